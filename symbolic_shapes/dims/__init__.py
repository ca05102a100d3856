"""Dim specifications, violations, suggested fixes.

`specs.py` has a user's specification of a dimension, `symbols.py` its symbols, `violations.py` compares guards with the
specification, `suggestions.py` finds one that fits, solved again before it is printed.
Called by `program/shapes`. Imports `symbolic_shapes/size_guards` and the packages below it.
"""
