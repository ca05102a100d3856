"""Compares two recordings by digests of the values that they compute and change (`fingerprint.py`).

A tensor left by an earlier recording is known if it was computed from parameters, buffers and constants
(`replayed_constants.py`). Tables whose rows do not depend on their number have digests without their length
(`families.py`), and so do the rows of buffers that hold one (`stored_rows.py`). Called once runs are over
(run/second_trace.py). Imports `capture` and `symbolic_shapes`.
"""
