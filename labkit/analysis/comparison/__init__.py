"""Two runs compared: what differs between their numbers beyond chance, and what else differs.

Repeats are the unit of everything here. It reads summaries and documents that others read from
disk; it must not know files, notebooks or engines.
"""
