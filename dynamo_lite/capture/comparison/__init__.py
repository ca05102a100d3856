"""Are two recordings the same program? Digests of what they compute and change (`fingerprint.py`).

What an earlier recording left is known where it was computed from parameters, buffers and constants
(`replayed_constants.py`). Tables whose rows do not depend on how many there are have digests without their length
(`families.py`), and so do the rows of buffers that hold one (`stored_rows.py`). Called once runs are over
(run/second_trace.py). Imports `capture` and `symbolic_shapes`.
"""
