"""After a run: its changes, and whether the program carries them, may drop them, or must be refused.

`classify.py` sorts the journal's changes, `descriptions.py` describes them; the other files each handle one kind of
change, of arguments, results, sizes or gradients. Called by `run/end_passes.py`, by the second trace, and for the sides
of a branch. Imports `tracing/heap`, `capture` and `program/trees`.
"""
