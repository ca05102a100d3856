"""Operators that need a rule of their own on FakeTensors, and what an operator's failure means.

`composites.py` and `shape_rules.py` answer for operators whose own kernels would ask about sizes; `eager_errors.py`
finds the exception that eager raises; `missing_data.py` the refusal where there is none.
Called by the recorder around each operator that runs. Imports `symbolic_shapes`, `capture/fakes` and the protocols of
capture; never the recorder.
"""
