"""The parts of `dynamo_lite.check`: arguments to run on, running both sides, observing a call, comparing.

`inputs.py` makes arguments that the guards admit, `pair.py` copies, `seen.py` and `python_state.py` observe the state
after a call, `compare.py` compares. Called by `dynamo_lite/checking.py`. Imports `nonstrict` (to find state),
`tracing/effects` and `guards`.
"""
