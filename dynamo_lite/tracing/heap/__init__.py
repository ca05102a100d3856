"""The objects that a run touches: which are its own, what was read and written, snapshots, and putting them back.

`access_log.py` notes reads, `journal.py` and `snapshots.py` what was there before a write, `generations.py` tells
objects of the run from older ones.
Called by `tracing/tracer.py` at each read and write. Imports `interpreter` and `tracing/vocabulary`;
`tracing/interfaces.py` names its classes.
"""
