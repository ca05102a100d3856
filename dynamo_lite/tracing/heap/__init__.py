"""The objects that a run touches: which are its own, which were read and written, snapshots, and their restoration.

`access_log.py` records reads, `journal.py` and `snapshots.py` the contents before a write, `generations.py` separates
objects of the run from older ones. Called by `tracing/tracer.py` at each read and write. Imports `interpreter` and
`tracing/vocabulary`; `tracing/interfaces.py` names its classes.
"""
