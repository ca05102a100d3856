"""torch's SymNode protocol: the node inside a SymInt, SymFloat or SymBool.

`sym_node.py` is the node; `query_kinds.py` tracks the origin of a query (the program, or an operator's kernel);
`sympy_functions.py` has torch's own sympy functions. Made by `torch_env`, used wherever a number is unwrapped. Imports
`symbolic_shapes/expressions` and the files `_torch*.py`.
"""
