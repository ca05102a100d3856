"""Facts and proofs as data, and the checker that verifies a proof without search.

`facts.py` and `proof.py` are the data, `checker.py` verifies, the files `*_rules.py` have the inference rules that it
knows.
Made by `prover`, verified where guards are simplified and in tests. Imports `symbolic_shapes/expressions` alone.
"""
