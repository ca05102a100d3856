"""The control flow of a code object: its graph, where branches join, which variables are read later, its loops.

Nothing here knows of tensors. dynamo_lite/control_flow asks it where the two sides of a branch meet again.
"""

from dynamo_lite.interpreter.flow.graph import END, FlowGraph, flow_of

__all__ = ["END", "FlowGraph", "flow_of"]
