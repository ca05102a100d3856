"""After a run: what it left changed, and whether the program carries that, may drop it, or must be refused.

`classify.py` sorts the journal's changes, `descriptions.py` words them; the other files each know one kind of change,
of arguments, results, sizes or gradients.
Called by `run/end_passes.py`, by the second trace, and for the sides of a branch. Imports `tracing/heap`, `capture`
and `program/trees`.
"""
