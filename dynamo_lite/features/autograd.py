"""Nodes of the autograd graph that the program reads (`grad_fn`), and flags of tensors (`tracing/tensors`)."""

from dynamo_lite.tracing.feature import Feature, WhileAwake
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.tensors import autograd_nodes, toggled_flags


def _on_missing(tracer: TracerView, owner: object, name: str) -> None:
    """Which attributes a node of the autograd graph has is in its class."""
    autograd_nodes.read(tracer, owner, name, None)


FEATURE = Feature(
    name="autograd",
    on={"compared": toggled_flags.check},
    while_awake=WhileAwake(autograd_nodes.plan, on_missing=_on_missing, on_text=autograd_nodes.check_text),
    graph_breaks=("autograd-graph", "gradient-hook"),
)
