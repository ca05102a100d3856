"""From the reads of a run to guards: each with a source, the value that it depends on, and a line.

`walk.py` goes from the arguments and globals to the objects in the access log; `guard_builder.py` makes a guard of a
row; `collect.py` is the front. Called by `pipeline.py` after the run, when the heap is as before. Imports `guards`,
`tracing/heap` and `tracing/vocabulary`.
"""
