"""Arrays made of tensors, where torch._numpy and numpy part.

`layouts.py` asks numpy what its results share with their arguments and how they lie in memory, `differences.py` is the
table of functions whose values are others.
Called by `tracing/tensors/numpy_arrays.py` and `numpy_rules.py`. Imports `tracing/vocabulary` and `capture`.
"""
