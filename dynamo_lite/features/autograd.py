"""Nodes of the autograd graph that the program reads (`grad_fn`): `tracing/tensors/autograd_nodes.py`."""

from dynamo_lite.tracing.feature import Feature, WhileAwake
from dynamo_lite.tracing.tensors import autograd_nodes

FEATURE = Feature(
    name="autograd", while_awake=WhileAwake(autograd_nodes.plan), graph_breaks=("autograd-graph", "gradient-hook")
)
