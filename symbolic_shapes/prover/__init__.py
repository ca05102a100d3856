"""Consequences of the facts: procedures from cheap to strong, each returning a proof.

`knowledge.py` and `tables.py` keep derived facts, `decide.py` tries the procedures in order.
Called by `ShapeEnv` (`symbolic_shapes/environment.py`) and by `size_guards`. Imports `proofs` and `expressions`.
"""
