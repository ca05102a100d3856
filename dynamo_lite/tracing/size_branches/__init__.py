"""Branches on sizes: both sides are compared before the example's answer becomes a guard.

`compared_sides.py` compares the final states of the two sides of a jump. `effect_free.py` runs the side that the
example does not take, `equal_views.py` finds views that show the whole of their base, `choice.py` makes one expression
of two numbers, and `flags.py` finds constants for flags that depend on sizes. `features/size_branches.py` has the
record, and makes `x.squeeze()` such a branch. Called by the interpreter at jumps, if sizes vary. Imports
`tracing/policy` and `symbolic_shapes`.
"""
