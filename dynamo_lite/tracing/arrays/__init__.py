"""Arrays made of tensors, for the cases in which torch._numpy and numpy differ.

`layouts.py` finds out from numpy which results share memory with their arguments and how they are strided;
`differences.py` is the table of functions whose values differ. Called by `tracing/tensors/numpy_arrays.py` and
`numpy_rules.py`. Imports `tracing/vocabulary` and `capture`.
"""
