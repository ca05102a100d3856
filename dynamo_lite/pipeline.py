"""From a call to an exported program: `capture` reads from top to bottom as the walk of a ReLU in docs/design.md."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dynamo_lite import attempts
from dynamo_lite.attempts import Options
from dynamo_lite.errors import (
    InvalidArguments,
)
from dynamo_lite.features.constants import declared as constants
from dynamo_lite.nonstrict.tracer import NativeTracer
from dynamo_lite.program import FlatInputs, flatten_inputs
from dynamo_lite.program.call_signatures import CallSignatures
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.shapes.dynamic_shapes import read_call
from dynamo_lite.program.shapes.shapes_spec import given_or_attached
from dynamo_lite.program.trees.containers import forgotten_after_errors
from dynamo_lite.run import Run, RunRequest, late_imports
from dynamo_lite.torch_internals._torch_dispatch import compiling
from dynamo_lite.torch_internals._torch_functorch import maybe_current_level
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.findings import Specializations
from dynamo_lite.tracing.higher_order.autograd import WithoutHooks
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS
from dynamo_lite.tracing.vocabulary.process_state import TorchState
from dynamo_lite.undoing import attributes, changed


@dataclass(frozen=True)
class Captured:
    """The result of one call: the program, the run that recorded it (over, the heap as before), its inputs."""

    program: Program
    run: Run
    inputs: FlatInputs


def capture(
    mod: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None, options: Options
) -> Captured:
    """Do the work of `export`, up to the program; traces.py makes a trace of it. Raises what `export` raises."""
    with forgotten_after_errors():
        return _capture(mod, args, kwargs, options)


def _capture(
    mod: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None, options: Options
) -> Captured:
    args, kwargs = _check_call(mod, args, kwargs)
    root = root_of(mod)
    shapes = given_or_attached(mod, options.dynamic_shapes)
    call = read_call(signature_of(mod), args, kwargs, shapes, options.constraints)
    inputs = flatten_inputs(call.signature, call.args, call.kwargs, ContainerFunctions())
    if options.constants is not None:
        constants.declare(inputs, options.constants)
    request = RunRequest(
        mod,
        root,
        inputs,
        call.specs,
        tracer=Tracer if options.strict else NativeTracer,
        drops=options.effects == "drop",
        exact=options.effects == "exact",
        started=_with_call_signatures(root, options.preserve_module_call_signature),
    )
    with process_as_before(), late_imports.seen():
        program, run = attempts.program_of(request, call, options)
    orders = run.tracer.reads.key_orders
    program.key_orders = orders.asked_keys() if orders is not None else ()
    program.state_reads, program.must_not_alias = run.state_reads, run.must_not_alias
    program.without_hooks = run.tracer.own(WithoutHooks).inputs
    for why in program.why_no_module():
        run.tracer.note(why)
    program.notes = run.tracer.notes
    program.specializations = tuple(run.tracer.own(Specializations).rows)
    return Captured(program, run, inputs)


def _with_call_signatures(root: nn.Module | None, paths: Sequence[str]) -> Callable[[Run], None]:
    """Return a callback for a run before it begins: it records the calls of the submodules at `paths`."""

    def started(run: Run) -> None:
        tell = run.tracer.abort, run.tracer.note
        if paths:
            run.tracer.modules.signatures = CallSignatures(run.recorder, root, paths, *tell)

    return started


def _check_call(mod: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not callable(mod):
        raise InvalidArguments(f"mod must be callable (a module, a function, ...), not {type(mod).__qualname__}")
    if isinstance(mod, torch.jit.ScriptModule):
        raise InvalidArguments("mod is a ScriptModule: export the Python module that it was made from")
    if not isinstance(args, tuple):
        raise InvalidArguments(f"args must be a tuple of positional arguments, not {type(args).__qualname__}")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise InvalidArguments(f"kwargs must be a dict of keyword arguments, not {type(kwargs).__qualname__}")
    if maybe_current_level() is not None:
        row = GRAPH_BREAKS["opaque-transform"]
        around = "The call around this export (torch.vmap, torch.func.grad, ...)"
        instead = "export the module outside of it, and call the exported program inside."
        raise row.error("opaque-transform", row.what.format(function=around), instead, ())
    return tuple(args), dict(kwargs or {})  # a named tuple is taken apart by its fields' names


def root_of(mod: Any) -> nn.Module | None:
    """The module whose parameters and buffers the program has: `mod`, or the module that it is a method of."""
    if isinstance(mod, nn.Module):
        return mod
    owner = getattr(mod, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


def signature_of(mod: Any) -> inspect.Signature:
    target = mod.forward if isinstance(mod, nn.Module) else mod
    try:
        return inspect.signature(target)
    except ValueError:  # a C callable without a text signature
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])


@contextmanager
def process_as_before() -> Iterator[None]:
    """Restore torch's global switches and generators after a trace; within, torch's export queries return True."""
    state = TorchState()
    log = logging.getLogger("torch._subclasses.fake_tensor")  # logs what operators raise, which the program may handle
    with changed(state.restore), changed(attributes(log, "disabled")), compiling(True):
        log.disabled = True
        yield
