"""Gradients of the outputs: the program's backward gives eager's gradients.

`passes.py` has the checks of a run whose effects are known. `made_leaves.py` lets outputs require grad whose gradient
ends at a leaf that the program makes.
"""
