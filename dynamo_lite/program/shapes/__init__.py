"""dynamic_shapes: from the user's specification to symbols, and from guards to ranges, checks and suggested fixes.

`spec_tree.py` reads the specification, `dynamic_shapes.py` makes symbols of it before the run and settles them after
it, `torch_symbols.py` replaces ours by torch's.
Called by `pipeline.py` and `program/build.py`. Imports `symbolic_shapes` and `program/trees`.
"""
