"""Dim specifications, violations, suggested fixes.

`specs.py` is what a user says of a dimension, `symbols.py` its symbols, `violations.py` compares guards with the
specification, `suggestions.py` finds one that fits, solved again before it is printed.
Called by `program/shapes`. Imports `symbolic_shapes/size_guards` and what is below.
"""
