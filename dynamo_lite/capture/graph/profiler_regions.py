"""Regions of the profiler (`record_function`, which each step of an optimizer enters): no program keeps them.

The handle of a region is an object of C++, which the code of a graph cannot hold; so they are removed from a sub-graph
before it becomes a module, and from the program at its end (program/build.py).
"""

from __future__ import annotations

from torch import fx


def is_of_the_profiler(node: fx.Node) -> bool:
    """Whether a node opens or closes a region of the profiler."""
    return getattr(node.target, "namespace", None) == "profiler"


def drop(graph: fx.Graph) -> None:
    """Remove the regions from a graph; one whose handle something else uses stays."""
    for node in reversed(graph.nodes):
        if is_of_the_profiler(node) and not node.users:
            graph.erase_node(node)
