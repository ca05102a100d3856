"""`explain`: a run that goes on after each problem, to report all of them at once; `draft_export`.

`recovering_tracer.py` and `recovering_recorder.py` pass over what would be refused, with values from
`example_evaluator.py`; `explain.py` collects, `draft.py` exports what is left.
Called by users and by the command line. Imports `run`, `tracing`, `capture` and `report`; nothing imports it.
"""
