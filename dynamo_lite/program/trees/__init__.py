"""Arguments and results as trees: flattening, containers, paths to leaves, and saving their structure.

`inputs.py` and `outputs.py` flatten a call and its result; `containers.py` registers classes of the user with pytree.
Called by `run` before and after the program runs, and by `program/build.py`. Imports `torch_internals` (pytree) and
`capture`.
"""
