"""A graph under construction: the program's, or that of a sub-graph (subgraphs.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import fx

from dynamo_lite.capture.graph.size_nodes import SizeNodes
from dynamo_lite.capture.graph.tensor_map import TensorMap
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_tensors import set_version


@dataclass(eq=False)
class Level:
    """One graph, with the recorder's data about it while it is written.

    nodes: the tensors that it has, and their nodes; sizes: the nodes of symbolic sizes, None without an environment
    modules: its own sub-graphs, by the attribute names that the graph reads
    last_first: the last node of the graph's head (placeholders, sizes of inputs)
    marked_grad: the grad mode that the last node is under
    autocast_nodes: the markers of the autocast regions that are open; None where each cast is an operator
    mask_rows: by id, a mask without dimensions, its version, and that mask with one dimension (kernels/indexing.py)

    Of a sub-graph: `captured` are the operands taken from the outer graph, as (placeholder inside, value outside).
    `arguments` are its own placeholders, made by `argument`; `grad_enabled` is the mode that it is entered under.

    A functional level may change its captures in place: the storages are recorded in `changed`, and the code that made
    the level returns them as results (control_flow/emission.py). It can be left and written to again
    (`Levels.resumed`).
    """

    graph: fx.Graph
    grad_enabled: bool
    may_mutate: bool
    arguments: list[fx.Node] = field(default_factory=list)
    captured: list[tuple[fx.Node, Any]] = field(default_factory=list)
    modules: dict[str, fx.GraphModule] = field(default_factory=dict)
    storages: set[int] = field(default_factory=set)
    own_storages: set[int] = field(default_factory=set)  # of the arguments of its own, which nothing may change
    functional: bool = False
    changed: set[int] = field(default_factory=set)  # the storages from around that it changes in place
    merges: bool = False  # it is a side of a branch, and what features keep is merged behind it
    memos: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)  # a tensor it was given, memos to put back
    versions: list[tuple[Any, int, Any]] = field(default_factory=list)  # such a tensor, its version, its grad_fn
    nodes: TensorMap = field(default_factory=TensorMap)
    sizes: SizeNodes | None = None
    last_first: fx.Node | None = None
    autocast_nodes: list[fx.Node | None] = field(default_factory=list)
    mask_rows: dict[int, tuple[Any, int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marked_grad = self.grad_enabled

    @property
    def placeholders(self) -> list[fx.Node]:
        return [*self.arguments, *(node for node, _ in self.captured)]

    def put_back_versions(self) -> bool:
        """Let autograd take the tensors from the outer graph for unchanged, as another side finds them. Returns whether
        one has the autograd graph of this side, which cannot be put back."""
        with DisableTorchFunction():
            for tensor, version, _ in reversed(self.versions):
                set_version(tensor, version)
            return any(graph is not None and tensor.grad_fn is not graph for tensor, _, graph in self.versions)

    def note_version(self, tensor: Any) -> None:
        """A tensor from the outer graph is an operand from now on (`put_back_versions`)."""
        with DisableTorchFunction():
            if not tensor.is_inference():
                self.versions.append((tensor, tensor._version, tensor.grad_fn))

    def put_back_memos(self) -> None:
        """Restore the memos of tensors from the outer graph: symbols made in here (`item()`) have no meaning there."""
        for tensor, memos in self.memos:
            for name, value in memos.items():
                setattr(tensor, name, value)
