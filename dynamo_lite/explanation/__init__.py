"""`explain`: a run that continues after each problem, to report all of them at once; `draft_export`.

`recovering_tracer.py` and `recovering_recorder.py` continue past errors, with values from `example_evaluator.py`;
`explain.py` collects the problems, `draft.py` exports the rest. Called by users and by the command line. Imports `run`,
`tracing`, `capture` and `report`; nothing imports it.
"""
