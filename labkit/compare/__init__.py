"""Two run folders found, read, compared and reported.

It must not know how anything is measured, nor how a command line is parsed.
"""
