"""Files that an engine's own Python runs; each knows that engine and nothing of labkit.

They lie in a folder of their own, since a file's folder comes first on its path.
"""
