"""The facts of a run as a simplified set of guards, with proofs in both directions.

`simplify.py` makes the set (in the order of `relation_order.py`), `guard_set.py` is the result, `codegen.py` writes it
as Python, `explain.py` in words, `runtime_asserts.py` as operators of the program.
Called by `dims` and `program/shapes` after the run. Imports `ShapeEnv` and the packages below it.
"""
