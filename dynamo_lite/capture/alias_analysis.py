"""The memory that each node of a graph may alias, and the nodes that write to it.

A *root* represents memory: an operator's allocation, or the storage of a tensor that existed before the run. A node may
alias several; the analysis over-approximates. It is made after the run, to compare two recordings (fingerprint.py), and
to compute the data of a constant (constant_values.py). Checked against torch 2.13.0 (native_functions.yaml).
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import HigherOrderOperator, OpOverload, _enter_autocast, _exit_autocast
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.interfaces import RecordedGraph
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_dispatch import _dispatch_has_kernel_for_dispatch_key
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled

aten = torch.ops.aten
Roots = frozenset[Hashable]
NOTHING: Roots = frozenset()

INPUTS = "inputs"
"""The root of all inputs: two of them may share memory."""

_IN_PLACE_BUT_PURE = frozenset({aten.detach_.default})
"""detach_ ends torch.tensor(...): it changes no value."""

_ALLOCATES = frozenset(
    {
        "linear", "matmul", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "batch_norm", "group_norm", "layer_norm", "instance_norm", "rms_norm", "scaled_dot_product_attention",
        "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d",
        "embedding_bag", "bilinear", "outer", "softmax", "log_softmax", "silu", "gelu", "one_hot", "std", "var",
        "cross_entropy_loss", "upsample_nearest2d", "upsample_bilinear2d", "arange", "linspace", "zeros", "ones",
        "full", "stack", "where", "gru", "gru_cell", "lstm", "lstm_cell", "rnn_tanh", "rnn_tanh_cell", "rnn_relu",
        "rnn_relu_cell", "square", "cdist", "cosine_similarity", "nll_loss_nd", "kron", "prelu", "selu", "celu",
        "linalg_inv", "inverse", "linalg_cholesky", "linalg_det", "det", "linalg_slogdet", "slogdet", "logdet",
        "linalg_solve", "linalg_svd", "svd", "linalg_svdvals", "linalg_eigh", "linalg_eigvalsh", "linalg_eigvals",
        "linalg_norm", "linalg_matrix_norm", "linalg_lu_factor", "linalg_pinv", "pinverse", "nuclear_norm",
        "frobenius_norm", "ctc_loss", "pairwise_distance", "log_sigmoid", "rrelu",
    }
)  # fmt: skip
"""Composite operators of aten that always return memory of their own. Any other may return an argument."""

_WRITES_STATISTICS = ("running_mean", "running_var")
"""Arguments that batch and instance norms change without saying so in their schema."""


def storage_of(tensor: torch.Tensor) -> Hashable:
    """The root of a tensor that existed before the run."""
    return ("storage", storage_key(tensor))


class AliasAnalysis:
    """`roots[node]`: the memory that a node may alias; `writes[node]`: the memory that it may change, if any.

    carried: the roots that nodes have as something else: placeholders that represent tensors of an earlier recording.
    """

    def __init__(self, recorder: RecordedGraph, carried: Mapping[fx.Node, Roots] | None = None) -> None:
        self.roots: dict[fx.Node, Roots] = dict(carried or {})
        self.writes: dict[fx.Node, Roots] = {}
        self._modules = recorder.modules
        lifted = {entry.node: entry.tensor for entry in recorder.lifted}
        for node in recorder.graph.nodes:
            if node in self.roots:
                continue
            if node.op != "placeholder":
                self._add(node)
            else:
                tensor = lifted.get(node)
                self.roots[node] = frozenset([INPUTS if tensor is None else storage_of(tensor)])
        self.written: Roots = NOTHING.union(*self.writes.values())

    def reads(self, node: fx.Node) -> Roots:
        """The memory of everything that a node is given."""
        return NOTHING.union(*(self.roots[argument] for argument in node.all_input_nodes))

    def is_pure(self, node: fx.Node) -> bool:
        """Whether a node only computes its result: it writes nothing, draws nothing, asserts nothing."""
        return only_computes(node, self._modules)

    def _add(self, node: fx.Node) -> None:
        target = node.target
        if target is operator.getitem:
            self.roots[node] = self.reads(node)
        elif is_marker(node) or node.op == "get_attr":
            self.roots[node] = NOTHING
        elif not isinstance(target, OpOverload):
            self.roots[node] = self.reads(node) | {node}
            if not self.is_pure(node) and (written := self._written_within(node)):
                self.writes[node] = written
        else:
            written = NOTHING.union(*(self.roots[argument] for argument in written_arguments(node)))
            if written:
                self.writes[node] = written
            self.roots[node] = self._shown(node, target) | written

    def _written_within(self, node: fx.Node) -> Roots:
        """The memory that the functions of a higher-order operator may change: of all operands, if it is not known
        which placeholder of a function shows which of them."""
        if node.target not in _OPERANDS:
            return self.reads(node)
        operands = pytree.tree_leaves(node.args[_OPERANDS[node.target]])
        written: Roots = NOTHING
        for module in subgraphs(node, self._modules):
            placeholders = module.graph.find_nodes(op="placeholder")
            if len(placeholders) != len(operands):
                return self.reads(node)
            inner = AliasAnalysis(SubGraph(module), {one: frozenset([one]) for one in placeholders})
            shown = [o for one, o in zip(placeholders, operands) if one in inner.written and isinstance(o, fx.Node)]
            written = written.union(*(self.roots[operand] for operand in shown))
        return written

    def _shown(self, node: fx.Node, target: OpOverload) -> Roots:
        schema = target._schema
        if schema.name in _REPLACES_MEMORY:
            return self.reads(node)
        if any(result.alias_info is not None for result in schema.returns):
            marked = [a for a in schema.arguments if a.alias_info is not None]
            return NOTHING.union(*(self.roots[n] for a in marked for n in _given(node, schema, a)))
        if not is_composite(target) or schema.name.removeprefix("aten::") in _ALLOCATES or _is_copied(node):
            return frozenset([node])
        return self.reads(node) | {node}


class SubGraph:
    """A sub-graph of an operator as a `RecordedGraph`."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.graph: fx.Graph = module.graph
        self.modules: dict[str, fx.GraphModule] = dict(module.named_children())  # type: ignore[arg-type]
        self.lifted: Sequence[Any] = ()


_OPERANDS: Mapping[Any, slice] = {
    torch.ops.higher_order.cond: slice(3, 4),
    torch.ops.higher_order.while_loop: slice(2, 4),
    torch.ops.higher_order.scan: slice(1, 4),
}
"""The arguments that are the operands of each function, in the order of its placeholders."""

_REPLACES_MEMORY = frozenset({"aten::set_", "aten::resize_", "aten::resize_as_"})


def is_marker(node: fx.Node) -> bool:
    """The border of a no_grad or autocast region."""
    return node.op == "call_function" and node.target in _MARKERS


_MARKERS = frozenset({_set_grad_enabled, _enter_autocast, _exit_autocast})


def is_size(node: fx.Node) -> bool:
    """Whether a node computes a number from sizes."""
    return isinstance(node.meta.get("val"), (int, float, *SYMBOLIC_TYPES))


def is_pure(node: fx.Node) -> bool:
    """Whether an operator only computes its result. (Of a higher-order one, see AliasAnalysis.)"""
    target = node.target
    if target is operator.getitem or target in _IN_PLACE_BUT_PURE or is_metadata_assertion(node):
        return True
    if not isinstance(target, OpOverload):
        return node.op == "call_function" and is_size(node)
    return bool(target._schema.returns) and not draws(node) and not any(True for _ in written_arguments(node))


def draws(node: fx.Node) -> bool:
    """Whether an operator takes random numbers."""
    target = node.target
    if not isinstance(target, OpOverload) or torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    schema = target._schema
    off = {"train": False, "training": False, "dropout_p": 0.0, "dropout": 0.0}
    return not any(a.name in off and _value(node, schema, a) == off[a.name] for a in schema.arguments)


def subgraphs(node: fx.Node, modules: Mapping[str, fx.GraphModule]) -> list[fx.GraphModule]:
    """The sub-graphs that a higher-order operator is given."""
    return [modules[str(n.target)] for n in node.all_input_nodes if n.op == "get_attr" and str(n.target) in modules]


def only_computes(node: fx.Node, modules: Mapping[str, fx.GraphModule]) -> bool:
    """The same as is_pure, for higher-order operators as well. modules: those that the node's graph refers to."""
    if node.op == "call_function" and isinstance(node.target, HigherOrderOperator):
        return all(map(_all_compute, subgraphs(node, modules)))
    return is_pure(node)


def _all_compute(module: fx.GraphModule) -> bool:
    own = dict(module.named_children())
    nodes = [node for node in module.graph.nodes if node.op not in ("placeholder", "output", "get_attr")]
    return all(only_computes(node, own) for node in nodes)  # type: ignore[arg-type]


def has_to_run(node: fx.Node, modules: Mapping[str, fx.GraphModule]) -> bool:
    """Whether an operator has an effect although nothing uses its result: it checks something, prints, or draws."""
    if isinstance(node.target, HigherOrderOperator):
        return any(map(_has_effect, subgraphs(node, modules)))
    is_operator = isinstance(node.target, OpOverload) and not is_metadata_assertion(node)
    return is_operator and (not node.target._schema.returns or "assert" in str(node.target) or draws(node))  # type: ignore[union-attr]


def _has_effect(module: fx.GraphModule) -> bool:
    own = dict(module.named_children())
    return any(has_to_run(node, own) for node in module.graph.nodes)  # type: ignore[arg-type]


def is_metadata_assertion(node: fx.Node) -> bool:
    """Whether a node is torch's assertion before `.to()`: of a dtype that the tensor always has in this program."""
    return node.target is aten._assert_tensor_metadata.default


def is_view(node: fx.Node) -> bool:
    """Whether the result shows an argument's memory and nothing was computed from its data."""
    target = node.target
    if not isinstance(target, OpOverload) or target._schema.is_mutable:
        return False
    returns = target._schema.returns
    return bool(returns) and not is_composite(target) and all(result.alias_info is not None for result in returns)


def same_as(node: fx.Node) -> fx.Node | None:
    """The argument that a conversion returned as it is (`x.to(dtype)` of a tensor that has it), or that a slice shows
    as a whole: torch leaves `x[:]` out where it knows the size, and only there."""
    target = node.target
    if target is torch.ops.aten.slice.Tensor and node.args[2:] == (0, _TO_THE_END) and not node.kwargs:
        return node.args[0]  # type: ignore[return-value]
    if not isinstance(target, OpOverload) or target._opname not in _CONVERSIONS:
        return None
    given = node.args[0]
    before, after = (n.meta.get("val") if isinstance(n, fx.Node) else None for n in (given, node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor) or len(node.args) > 4:
        return None
    if True in node.args[1:] or node.kwargs.get("copy") or before.layout is not torch.strided:
        return None
    alike = before.dtype == after.dtype and before.device == after.device and before.layout == after.layout
    return given if alike and before.shape == after.shape and before.stride() == after.stride() else None  # type: ignore[return-value]


def _is_copied(node: fx.Node) -> bool:
    """Whether a conversion returns another tensor than its argument, since that has another dtype or device."""
    if node.target._opname not in _CONVERSIONS:  # type: ignore[union-attr]
        return False
    before, after = (n.meta.get("val") if isinstance(n, fx.Node) else None for n in (node.args[0], node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    return before.dtype != after.dtype or before.device != after.device


_CONVERSIONS = frozenset({"to", "contiguous", "type_as"})
_TO_THE_END = 2**63 - 1


def written_arguments(node: fx.Node) -> Iterator[fx.Node]:
    """The arguments that an operator changes in place."""
    for argument in written_parameters(node):
        yield from _given(node, node.target._schema, argument)  # type: ignore[union-attr]


def written_parameters(node: fx.Node) -> list[Any]:
    """The parameters of an operator, as its schema has them, whose arguments it changes in place."""
    target = node.target
    if not isinstance(target, OpOverload) or target in _IN_PLACE_BUT_PURE:
        return []
    schema = target._schema
    writes = [argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments]
    return [
        argument
        for argument, is_write in zip(schema.arguments, writes)
        if is_write or (argument.name in _WRITES_STATISTICS and _is_training(node, schema))
    ]


def _is_training(node: fx.Node, schema: Any) -> bool:
    for argument in schema.arguments:
        if argument.name in ("training", "train", "use_input_stats"):
            value = _value(node, schema, argument)
            return value is not False
    return False


def _value(node: fx.Node, schema: Any, argument: Any) -> Any:
    index = schema.arguments.index(argument)
    return node.args[index] if index < len(node.args) else node.kwargs.get(argument.name, argument.default_value)


def _given(node: fx.Node, schema: Any, argument: Any) -> Iterator[fx.Node]:
    """The nodes that a call has for one argument of its operator."""
    value = _value(node, schema, argument)
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, fx.Node):
            yield item


def is_composite(target: OpOverload) -> bool:
    return _dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")
