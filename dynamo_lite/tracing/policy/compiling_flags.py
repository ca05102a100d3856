"""torch's own branches on "is this being compiled or exported?", and the answer that each gets during a trace.

The program must match eager, so torch's own code gets eager's answer wherever the recording can express what eager then
does. Elsewhere it gets the exporting answer; `differs` describes what eager does instead, and `note` goes into the
report if the branch was reached with one of the arguments `given`. A query of the user's own code is answered yes, with
a note (registry.py). torch.jit's queries (`is_scripting`, `is_tracing`, `_get_tracing_state`) are never true here.

tests/hostile/test_compiling_flags.py compares the table with the installed torch. Not in it is torch's code below the
operators (torch._dynamo, torch._inductor, torch._functorch, torch._higher_order_ops, torch.fx, ...). Checked with torch
2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import torch

from dynamo_lite.interpreter import datamodel
from dynamo_lite.symbolic_shapes.torch_versions import Version, applies
from dynamo_lite.tracing.interfaces import TracerView

EAGER: Final = False
EXPORTING: Final = True


class CompilingAnswers(NamedTuple):
    """The answer to the queries of one function of torch.

    `module` and `function` (its qualified name) identify the caller; `differs` is the effect of the answer. `note` goes
    into the report where eager would take its fast path: gradients are off or nothing requires grad, and one of the
    local variables `given` is there. `needs` is an attribute without which eager has no fast path: the exporting answer
    then. `since` and `until` are the versions of torch that have the query, if not every supported one does.
    """

    module: str
    function: str
    answer: bool
    differs: str
    note: str | None = None
    given: tuple[str, ...] = ()
    needs: str | None = None
    since: Version | None = None
    until: Version | None = None


_NN = "torch.nn.modules"
_COLLECTIVES = "the functional collective, which is what a recording has (capture/kernels/collectives.py)"
_NESTED = (
    "torch.nn.TransformerEncoder: without gradients, eager computes only what src_key_padding_mask leaves and gives "
    "zeros for the rest; the program computes the padded positions as well, as eager does with gradients"
)
_MASKED_ROWS = (
    "torch.nn's fused attention: without gradients, eager may give NaN where a mask leaves nothing of a row; the "
    "program has plain operators, which give what eager gives with gradients"
)

_BRANCHES: tuple[CompilingAnswers, ...] = (
    CompilingAnswers(
        f"{_NN}.module", "Module._call_impl", EAGER, "hooks with always_call=True run after an exception too"
    ),
    CompilingAnswers(
        f"{_NN}.activation",
        "_is_make_fx_tracing",
        EXPORTING,
        "plain operators with the fused kernel's layout; only rows that are masked as a whole may differ",
    ),
    CompilingAnswers(
        f"{_NN}.transformer",
        "TransformerEncoder.forward",
        EXPORTING,
        "eager makes a NestedTensor if the mask is aligned to the left, which depends on data",
    ),
    CompilingAnswers("torch.autograd.graph", "region_activation_memory_budget", EAGER, "eager raises"),
    CompilingAnswers("torch.nn.attention.flex_attention", "_warn_once", EXPORTING, "a warning, which a trace skips"),
    CompilingAnswers(
        "torch.nn.attention.flex_attention",
        "_extract_callable_pytree",
        EXPORTING,
        "how tensors of closures become operands; tracing/higher_order/flex_attention.py lifts them",
    ),
    CompilingAnswers(
        "torch.nn.attention.flex_attention",
        "flex_attention",
        EXPORTING,
        "the operator itself, where eager compiles or interprets it",
    ),
    CompilingAnswers(
        "torch.nn.parallel.distributed",
        "DistributedDataParallel._pre_forward",
        EXPORTING,
        "eager sets up its communication on the first call",
    ),
    CompilingAnswers("torch.nn.functional", "linear_cross_entropy", EXPORTING, "how gradients are kept; equal values"),
    CompilingAnswers(
        "torch.nn.functional", "pad", EXPORTING, "a decomposition on CUDA with deterministic algorithms; equal"
    ),
    CompilingAnswers("torch._utils", "is_compiling", EXPORTING, "torch.compiler.is_compiling under another name"),
    CompilingAnswers("torch", "compile", EXPORTING, "the function itself instead of a compiled one; equal values"),
    *(
        CompilingAnswers("torch.distributed.nn.functional", name, EXPORTING, _COLLECTIVES)
        for name in (
            *("broadcast", "gather", "scatter", "reduce", "reduce_scatter", "all_gather", "_all_gather_base"),
            *("all_to_all", "all_to_all_single", "all_reduce"),
        )
    ),
    CompilingAnswers(
        "torch.distributed.device_mesh", "_get_pg_from_name", EXPORTING, "the process group by its name; the same"
    ),
    *(
        CompilingAnswers("torch.distributed._functional_collectives", name, EXPORTING, "a deprecation warning")
        for name in (
            *("all_gather_tensor", "all_gather_tensor_autograd", "all_gather_into_tensor_coalesced"),
            *("reduce_scatter_tensor", "reduce_scatter_tensor_autograd", "reduce_scatter_tensor_coalesced"),
        )
    ),
    CompilingAnswers(
        "torch.nn.attention.flex_attention",
        "_validate_block_mask_shape",
        EXPORTING,
        "whether the lengths are looked at for sizes that only run time knows; they are compared in any case",
        since=(2, 14),
    ),
    CompilingAnswers(
        "torch.distributed.device_mesh",
        "_maybe_traced_group",
        EXPORTING,
        "eager's way, unless a proxy mode is active, which none is during a trace",
        since=(2, 14),
    ),
    CompilingAnswers(
        "torch.distributions.distribution",
        "_all_true_or_runtime_assert",
        EXPORTING,
        "invalid parameters or values: an assertion of the program, where eager raises ValueError",
        since=(2, 15),
    ),
    CompilingAnswers(
        "torch.distributed.tensor._collective_utils",
        "_can_skip_zero_size_op",
        EXPORTING,
        "eager leaves out padding by nothing; equal values",
        since=(2, 15),
    ),
)
BRANCHES = tuple(filter(applies, _BRANCHES))
"""Those of the installed torch."""

FUSED: tuple[CompilingAnswers, ...] = (
    CompilingAnswers(
        f"{_NN}.activation",
        "MultiheadAttention.forward",
        EAGER,
        "eager's way up to _is_make_fx_tracing",
        _MASKED_ROWS,
        ("attn_mask", "key_padding_mask"),
        "in_proj_bias",
    ),
    CompilingAnswers(
        f"{_NN}.transformer",
        "TransformerEncoder.forward",
        EXPORTING,
        "eager makes a NestedTensor, and no fake tensor is one",
        _NESTED,
        ("src_key_padding_mask",),
    ),
    CompilingAnswers(
        f"{_NN}.transformer",
        "TransformerEncoderLayer.forward",
        EXPORTING,
        "eager runs the layer as one operator, which has no gradient and no decomposition",
        _MASKED_ROWS,
        ("src_mask", "src_key_padding_mask"),
    ),
)
"""Callers of `torch.overrides.has_torch_function` before a fused kernel; true would be a trace's own function mode."""

_NOTES = {(row.module, row.function): row for row in FUSED}
_COMPILING = {(row.module, row.function): row for row in BRANCHES}


def compiling(tracer: TracerView) -> bool:
    """The answer to the innermost frame, which is a library's."""
    row = _branch_at_work(tracer, _COMPILING)
    if row is not None and (fused := _NOTES.get((row.module, row.function))) is not None:
        _note(tracer, fused)
    if row is None:
        return EAGER if _is_in(tracer, "torch.optim.") else EXPORTING
    return row.answer


def has_torch_function(tracer: TracerView, ask: Callable[[], Any]) -> Any:
    """Return the answer for a library's frame; None if the query is not about a fused kernel. `ask` is eager's."""
    row = _branch_at_work(tracer, _NOTES)
    if row is None:
        return None
    if row.needs is not None and datamodel.getattr_(tracer.vm, _variables(tracer)["self"], row.needs) is None:
        return True
    _note(tracer, row)
    return True if row.answer is EXPORTING else ask()


def _branch_at_work(tracer: TracerView, rows: dict[tuple[str, str], CompilingAnswers]) -> CompilingAnswers | None:
    frame = tracer.vm.frame
    return None if frame is None else rows.get((str(frame.globals.get("__name__")), frame.code.co_qualname))


def _is_in(tracer: TracerView, package: str) -> bool:
    """Whether the innermost frame is code of a package: torch.optim computes with Python's numbers in eager, which a
    recording holds in double precision as well."""
    frame = tracer.vm.frame
    return frame is not None and str(frame.globals.get("__name__")).startswith(package)


def _note(tracer: TracerView, row: CompilingAnswers) -> None:
    variables = _variables(tracer)
    masked = any(variables.get(name) is not None for name in row.given)
    if row.note is not None and masked and not variables["self"].training and _is_fast(variables["self"]):
        tracer.note(row.note)


def _variables(tracer: TracerView) -> dict[str, Any]:
    frame = tracer.vm.frame
    return {} if frame is None else frame.f_locals()


def _is_fast(module: torch.nn.Module) -> bool:
    return not (torch.is_grad_enabled() and any(p.requires_grad for p in _parameters(module)))


def _parameters(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """`module.parameters()`, without a frame of the program's that CPython would evaluate."""
    modules = {id(module): module}
    waiting = [module]
    while waiting:
        own = vars(waiting.pop())
        yield from (parameter for parameter in own["_parameters"].values() if parameter is not None)
        new = {id(child): child for child in own["_modules"].values() if child is not None and id(child) not in modules}
        modules |= new
        waiting += new.values()
