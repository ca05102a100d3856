"""Expressions to sympy and back. sympy is the language of users, logs, torch and serializers.

`converters.py` has both directions, `heads.py` defines a dialect of sympy, `plain.py` is that of sympy's own classes;
torch's is `torch_node/sympy_functions.py`.
Called by `torch_env`, `program/shapes` and logging. Imports `symbolic_shapes/expressions` and sympy.
"""
