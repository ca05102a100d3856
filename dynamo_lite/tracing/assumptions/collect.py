"""The guard set of a trace: the program's reads, the form of its arguments, torch's switches, conditions on sizes."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from dynamo_lite.guards import Guard, GuardSet, Source, State, root
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.shapes import value_guards
from dynamo_lite.program.trees.user_inputs import user_values
from dynamo_lite.symbolic_shapes.size_guards import codegen
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_dispatch import _len_torch_dispatch_stack, _len_torch_function_stack
from dynamo_lite.torch_internals._torch_functorch import maybe_current_level
from dynamo_lite.tracing.assumptions.arguments import OPEN, guard_arguments
from dynamo_lite.tracing.assumptions.walk import Walk, module_name
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES, default_device


def guards_of(mod: Any, run: Any, inputs: FlatInputs, program: ExportedProgram) -> GuardSet:
    """Return the guards of a run, which is over: the heap is as it was before.

    The program is right whether or not its conditions can be written as guards. If they cannot (an error of ours),
    there is a single guard, which never holds and states why.
    """
    try:
        return _guards_of(mod, run, inputs, program)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        run.tracer.note(f"the guards could not be made ({error!r}): no check of this trace will pass")
        return GuardSet([Guard("unknown", None, f"guards that could be made; please report this program\n{text}")])


def _guards_of(mod: Any, run: Any, inputs: FlatInputs, program: ExportedProgram) -> GuardSet:
    walk = Walk(run.tracer.reads, {id(lifted.tensor) for lifted in run.recorder.lifted})
    arguments = guard_arguments(walk, inputs, _open_sizes(program))
    if run.request.without_gradients:  # as it was recorded (dynamo_lite/attempts.py)
        with torch.no_grad():
            walk.guards.extend(_state(run.tracer.reads.switches))
    else:
        walk.guards.extend(_state(run.tracer.reads.switches))
    reasons = run.settled.reasons() if run.settled is not None else {}
    walk.guards.extend(Guard("python", None, text, reasons.get(text)) for text in _conditions(program))
    _start(walk, mod)
    walk.run()
    walk.strays()
    walk.of_classes()
    walk.of_tensors()
    walk.identities()
    walk.must_not_alias(run.tracer.journal.touched)
    for add in run.tracer.features.guards:
        add(walk, run.tracer)
    return GuardSet(walk.guards, arguments, {**codegen.namespace(), "torch": torch})


def _start(walk: Walk, mod: Any) -> None:
    """The names that paths begin at: the callable, the modules' globals."""
    reads = walk.reads
    own = _own_globals(mod)
    walk.place(mod, root("module" if isinstance(mod, nn.Module) else "function"), None)
    for module in reads.modules.values():
        walk.visit(module, walk.constant(module), None)
    for namespace in reads.namespaces.values():
        walk.visit(namespace, _globals(walk, namespace, namespace is own), None)


def _own_globals(mod: Any) -> Any:
    """Return the globals of `G`: those of the callable, or of its class's module."""
    function = mod.__func__ if type(mod) is MethodType else mod
    if type(function) is FunctionType:
        return function.__globals__
    module = sys.modules.get(type(mod).__module__)
    return None if module is None else module.__dict__


def _globals(walk: Walk, namespace: dict[str, Any], is_own: bool) -> Source:
    if namespace is sys.modules:
        return walk.constant(namespace, "sys.modules")
    name = module_name(namespace)
    shown = "G" if is_own else f"G[{name or namespace.get('__name__')!r}]"
    return walk.constant(namespace, shown)


def _state(asked: dict[Any, Any]) -> Iterator[Guard]:
    """Yield guards on torch's switches; `asked` are functions without arguments whose result the program saw."""
    for read, site in asked.items():
        yield Guard("state", None, State(f"{read.__name__}()", read, read()), site)
    for switch in SWITCHES:
        if switch.name in _NO_CONDITION:
            continue
        yield Guard("state", None, State(switch.name, switch.read, switch.read()))
    for state in (
        State("inference mode", torch.is_inference_mode_enabled, torch.is_inference_mode_enabled()),
        State("the default device", default_device, default_device()),
        State("hooks on all modules", _global_hooks, _global_hooks()),
        State("function modes", _len_torch_function_stack, 0),
        State("dispatch modes", _len_torch_dispatch_stack, 0),
        State("vmap or grad transforms", maybe_current_level, None),
    ):
        yield Guard("state", None, state)


_NO_CONDITION = frozenset({"the number of threads"})
"""Switches that change how operators run, not their results."""


def _global_hooks() -> bool:
    everywhere: Any = nn.modules.module
    return bool(
        everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_forward_pre_hooks
    )


def _open_sizes(program: ExportedProgram) -> dict[int, Any]:
    """For each flat input, by number: the dimensions whose size is symbolic, or OPEN for a number."""
    found: dict[int, Any] = {}
    for number, value in enumerate(user_values(program)):
        if isinstance(value, torch.Tensor):
            found[number] = tuple(i for i, size in enumerate(value.shape) if isinstance(size, torch.SymInt))
        elif isinstance(value, SYMBOLIC_TYPES):
            found[number] = OPEN
    return found


def _conditions(program: ExportedProgram) -> list[str]:
    """Conditions on the inputs as Python; the tensors' dtypes are guards of their own."""
    paths: Any = program.input_paths  # type: ignore[attr-defined]
    texts = [text for text in program._guards_code if not _DTYPE.match(text)]
    return [value_guards.as_condition(text, paths) for text in texts]


_DTYPE = re.compile(r"L\[.*\]\S*\.dtype == torch\.\w+$")
