"""State of a side that is in no journal: positions of iterators, first reads, and which objects are its own.

Each file saves one kind of such state when a side begins and restores it when it ends. Called by
`control_flow/sides.py` and by loops. Imports `interpreter/frames` and `tracing/heap`.
"""
