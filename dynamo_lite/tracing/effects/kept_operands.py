"""Operands of torch.cond and scan that autograd saves for the backward, and that the program changes in place later.

In eager autograd saves the operands of each operator of the side taken, and refuses the backward if they have been
changed. The operator as a whole saves all its operands, so eager's backward would be refused: it gets a copy.

torch makes the backward of both sides, whichever is taken. A side that changes in place an operand of its own backward,
so that eager refuses the backward where it is taken, would prevent the other side's: within a side, too, operators get
copies of operands that are changed after them.

So do the operators of the program of what it writes and eager does not: a buffer that is assigned (`self.h = h`) gets
its new value by a copy, and behind a branch a tensor that one side changes is written to whichever was taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import (
    NOTHING,
    AliasAnalysis,
    Roots,
    SubGraph,
    is_composite,
    is_view,
    storage_of,
    subgraphs,
    written_arguments,
    written_parameters,
)
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.tracing.effects.requires_grad import nodes_requiring_grad, reached

_KEEPERS = frozenset(map(id, (torch.ops.higher_order.cond, torch.ops.higher_order.scan)))
_CHOICES = _KEEPERS | set(map(id, (torch.ops.higher_order.while_loop, torch.ops.aten.where.self)))


def separate(recorder: Recorder, leaves: list[Any], assigned: Iterable[str]) -> None:
    """Give clones of such operands to the operators.

    leaves: the arguments of the program, flat; assigned: the buffers that get their new value at its end.
    """
    keepers = {node for node in recorder.graph.nodes if id(node.target) in _KEEPERS}
    names = set(assigned)
    if not names and not keepers and _CHOICES.isdisjoint([id(node.target) for node in recorder.graph.nodes]):
        return
    differentiable = nodes_requiring_grad(recorder, leaves)
    keepers &= differentiable
    if not differentiable:
        return
    analysis = AliasAnalysis(recorder)
    later: Roots = frozenset(storage_of(entry.tensor) for entry in recorder.lifted if entry.fqn in names)
    _separate_in(recorder.graph, keepers, analysis, later)
    _separate_saved(recorder.graph, analysis, differentiable, later, _is_of_a_choice)
    for node in keepers:
        _separate_within(subgraphs(node, recorder.modules))


def _separate_within(sides: Iterable[fx.GraphModule]) -> None:
    """The same in the sub-graphs of such an operator: its gradient makes those within keep their operands as well."""
    for side in sides:
        part = SubGraph(side)
        keepers = {node for node in side.graph.nodes if id(node.target) in _KEEPERS}
        writes = any(any(True for _ in written_arguments(node)) for node in side.graph.nodes)
        if writes:
            _separate_in(side.graph, keepers, AliasAnalysis(part), NOTHING)
            inputs = {node for node in side.graph.nodes if node.op == "placeholder"}
            _separate_saved(side.graph, AliasAnalysis(part), reached(side.graph, True, inputs))
            side.recompile()
        for node in keepers:
            _separate_within(subgraphs(node, part.modules))


def _separate_in(graph: fx.Graph, keepers: set[fx.Node], analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to after the graph."""
    for node in reversed(list(graph.nodes)):
        if node in keepers:
            _separate(node, analysis, later)
        later |= NOTHING.union(*(analysis.roots[argument] for argument in written_arguments(node)))


def _separate(node: fx.Node, analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to after `node`."""
    for operand in node.all_input_nodes:
        value = operand.meta.get("val")
        if isinstance(value, torch.Tensor) and analysis.roots[operand] & later:
            node.replace_input_with(operand, _call(torch.ops.aten.clone.default, (operand,), node))


def _call(op: Any, args: tuple[Any, ...], before: fx.Node, kwargs: Mapping[str, Any] | None = None) -> fx.Node:
    """A call in front of `before` that gives a tensor like its first argument, if that is one."""
    with before.graph.inserting_before(before):
        made = before.graph.call_function(op, args, dict(kwargs or {}))
    made.meta = {name: before.meta[name] for name in ("nn_module_stack", "stack_trace") if name in before.meta}
    if isinstance(args[0], fx.Node):
        made.meta |= {name: args[0].meta[name] for name in ("val", "tensor_meta") if name in args[0].meta}
    if isinstance(op, OpOverload):
        made.meta["torch_fn"] = (made.name, f"OpOverload.{op._schema.name.removeprefix('aten::')}")
    return made


# -- what operators save -----------------------------------------------------------------------------------------------


def _separate_saved(
    graph: fx.Graph,
    analysis: AliasAnalysis,
    differentiable: Container[fx.Node],
    later: Roots = NOTHING,
    counts: Callable[[fx.Node], bool] = lambda node: True,
) -> None:
    """Give operators copies of operands that are changed after them, or by themselves.

    later: the memory that is written to after the graph; counts: whether the writes of a node are to be seen.
    """
    for node in reversed(list(graph.nodes)):
        written = set(written_arguments(node))
        own = NOTHING.union(*(analysis.roots[argument] for argument in written)) if counts(node) else NOTHING
        if node in differentiable and isinstance(node.target, OpOverload) and not is_view(node):
            if later or own:
                _copy_saved(node, analysis, later | own)
            if later and _saves_result(node):
                _copy_results(node, analysis, later, written)
        later |= own


def _chooses(node: fx.Node) -> bool:
    """Whether data decide what the node gives."""
    return id(node.target) in _CHOICES


def _is_of_a_choice(node: fx.Node) -> bool:
    """Whether the node writes the result of a branch or of a loop to a tensor, which eager does on one side alone."""
    if node.target is not torch.ops.aten.copy_.default:
        return False
    source: Any = node.args[1]
    while isinstance(source, fx.Node) and (source.target is operator.getitem or is_view(source)):
        source = source.args[0]
    return isinstance(source, fx.Node) and _chooses(source)


def _copy_saved(node: fx.Node, analysis: AliasAnalysis, later: Roots) -> None:
    """Clones for the arguments that an operator may save, which are all but those that it writes to."""
    written = {argument.name for argument in written_parameters(node)}
    if analysis.roots[node] & NOTHING.union(*(analysis.roots[n] for n in node.all_input_nodes)) and not written:
        return  # its result may be an argument
    schema = node.target._schema  # type: ignore[union-attr]
    if _name_of(node) in _SAVE_NOTHING:
        return

    def copied(argument: fx.Node) -> fx.Node:
        is_tensor = isinstance(argument.meta.get("val"), torch.Tensor)
        changes = is_tensor and bool(analysis.roots[argument] & later)
        return _call(torch.ops.aten.clone.default, (argument,), node) if changes else argument

    def read(name: str, value: Any) -> Any:
        return value if name in written else fx.map_arg(value, copied)

    node.args = tuple(read(parameter.name, value) for parameter, value in zip(schema.arguments, node.args))
    node.kwargs = {name: read(name, value) for name, value in node.kwargs.items()}


def _name_of(node: fx.Node) -> str:
    return str(node.target._schema.name).removeprefix("aten::").removeprefix("_foreach_").rstrip("_")  # type: ignore[union-attr]


def _saves_result(node: fx.Node) -> bool:
    """Whether autograd may save a result of an operator. One made of others, or of the user's, may save any."""
    target: Any = node.target
    return _name_of(node) in _SAVE_RESULT or target.namespace != "aten" or is_composite(target)


def _copy_results(node: fx.Node, analysis: AliasAnalysis, later: Roots, written: set[fx.Node]) -> None:
    """Copies of the results of which the memory is written to later."""
    if not analysis.roots[node] & later or not (written or analysis.roots[node] == {node}):
        return  # or a result may be an argument
    if isinstance(node.meta.get("val"), torch.Tensor):
        _copy_result(node, written)
    elif not written:
        for user in list(node.users):
            if user.target is operator.getitem and isinstance(user.meta.get("val"), torch.Tensor):
                _copy_result(user, written)


def _copy_result(node: fx.Node, written: set[fx.Node]) -> None:
    """The result is another tensor than the one that is written to."""
    if not written:
        computed = _call(node.target, node.args, node, node.kwargs)
        computed.meta |= {name: node.meta[name] for name in ("val", "tensor_meta", "torch_fn") if name in node.meta}
        node.target, node.args, node.kwargs = torch.ops.aten.clone.default, (computed,), {}
        node.meta["torch_fn"] = (node.name, "OpOverload.clone")
        return
    if written != {node.args[0]}:
        return
    changed = _call(torch.ops.aten.clone.default, node.args[:1], node)
    value = _call(node.target, (changed, *node.args[1:]), node, node.kwargs)
    node.target, node.args, node.kwargs = torch.ops.aten.copy_.default, (node.args[0], value), {}
    node.meta["torch_fn"] = (node.name, "OpOverload.copy_")


_SAVE_NOTHING = frozenset({"add", "sub", "rsub", "neg", "cat", "stack", "clone", "_to_copy", "sum", "mean", "copy"})
"""Operators whose derivative needs no values of their arguments."""

_SAVE_RESULT = frozenset(
    {
        "_batch_norm_no_update", "_batch_norm_with_update", "_cdist_forward", "_ctc_loss",
        "_efficient_attention_forward", "_embedding_bag", "_euclidean_dist",
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "_flash_attention_forward", "_fused_dropout",
        "_fused_moving_avg_obs_fq_helper", "_fused_rms_norm", "_linalg_det", "_linalg_eigh", "_linalg_slogdet",
        "_linalg_solve_ex", "_linalg_svd", "_log_softmax", "_masked_softmax", "_native_batch_norm_legit",
        "_native_batch_norm_legit_no_training", "_pack_padded_sequence", "_pdist_forward", "_safe_softmax",
        "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_fused_attention_overrideable", "_softmax", "_standard_gamma", "_thnn_fused_gru_cell",
        "_thnn_fused_lstm_cell", "_weight_norm_interface", "adaptive_max_pool2d", "adaptive_max_pool3d", "amax", "amin",
        "aminmax", "celu", "cholesky", "cholesky_inverse", "cholesky_solve", "convolution_backward", "copysign",
        "cummax", "cummin", "cumprod", "dist", "elu", "exp", "exp2", "expm1",
        "fake_quantize_per_channel_affine_cachemask", "fake_quantize_per_tensor_affine_cachemask",
        "fractional_max_pool2d", "fractional_max_pool3d", "frexp", "hypot", "index_reduce", "kthvalue", "ldexp",
        "leaky_relu", "linalg_cholesky_ex", "linalg_eig", "linalg_householder_product", "linalg_inv_ex", "linalg_lstsq",
        "linalg_lu", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_pinv", "linalg_qr", "linalg_solve_triangular",
        "linalg_vector_norm", "log_sigmoid_forward", "logcumsumexp", "logsumexp", "max", "max_pool2d_with_indices",
        "max_pool3d_with_indices", "median", "min", "mode", "multilabel_margin_loss_forward", "nanmedian",
        "native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm", "nll_loss2d_forward",
        "nll_loss_forward", "norm", "ormqr", "polar", "pow", "prod", "reciprocal", "relu", "rrelu_with_noise", "rsqrt",
        "scatter_reduce", "segment_reduce", "sgn", "sigmoid", "sort", "special_erfcx", "special_i0e", "special_i1",
        "special_i1e", "special_log_ndtr", "special_ndtri", "sqrt", "std", "std_mean", "tan", "tanh", "topk",
        "triangular_solve",
    }
)  # fmt: skip
"""Operators of whose results torch's derivative is made (derivatives.yaml of torch 2.13, which a test reads)."""
