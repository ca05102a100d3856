"""The control flow of a code object: its graph, where branches join, which variables are read later, its loops.

All answers are about the normal form (`interpreter/code`), and kept with the code. `tails.py` knows ends of functions
that compilers write more than once.
Used by `control_flow` and by assertions (`tracing/vocabulary/asserted_branches.py`). Imports `interpreter/code` alone.
"""

from dynamo_lite.interpreter.flow.graph import END, FlowGraph, flow_of

__all__ = ["END", "FlowGraph", "flow_of"]
