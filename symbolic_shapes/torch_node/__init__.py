"""torch's SymNode protocol: what a SymInt, SymFloat or SymBool holds.

`sym_node.py` is the node; `query_kinds.py` holds who asks a question (the program, or an operator's kernel);
`sympy_functions.py` has torch's own sympy functions.
Made by `torch_env`, used wherever a number is unwrapped. Imports `symbolic_shapes/expressions` and the files
`_torch*.py`.
"""
