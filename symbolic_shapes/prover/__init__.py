"""What follows from the facts: procedures from cheap to strong, each giving a proof.

`knowledge.py` and `tables.py` keep what is known, `decide.py` asks the procedures in order.
Called by `ShapeEnv` (`symbolic_shapes/environment.py`) and by `size_guards`. Imports `proofs` and `expressions`.
"""
