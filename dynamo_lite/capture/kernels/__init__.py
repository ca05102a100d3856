"""Operators that need a rule of their own on FakeTensors, and the interpretation of operators' errors.

`composites.py` and `shape_rules.py` implement operators whose own kernels would compare sizes; `eager_errors.py` finds
the exception that eager raises; `missing_data.py` the graph break if there is none.
Called by the recorder around each operator that runs. Imports `symbolic_shapes`, `capture/fakes` and the protocols of
capture; never the recorder.
"""
