"""Branches on sizes: both sides are looked at before the example's answer becomes a guard.

`compared_sides.py` compares what the two sides of a jump leave. `effect_free.py` runs the side that the example does
not take, `equal_views.py` knows views that show the whole of their base, `choice.py` makes one expression of two
numbers, `flags.py` finds constants for flags that depend on sizes, and `squeezed.py` makes `x.squeeze()` such a branch.
Called by the interpreter at jumps, where sizes vary (run.py). Imports `tracing/policy` and `symbolic_shapes`.
"""
