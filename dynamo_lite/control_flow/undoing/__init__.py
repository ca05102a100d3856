"""What no journal shows of a side: where iterators stand, what was read first, and which objects are its own.

Each file keeps one kind of such state when a side begins and puts it back when it ends.
Called by `control_flow/sides.py` and by loops. Imports `interpreter/frames` and `tracing/heap`.
"""
