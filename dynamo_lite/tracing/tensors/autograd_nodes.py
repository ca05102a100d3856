"""Queries of the autograd graph: `grad_fn`, and the flags of a tensor's part in it.

The fake tensors have an autograd graph of their own: cached results (capture/fakes/static_cache.py) have another node
than eager's, and an input is always a leaf. So a node may only be compared with None and with itself; a flag of an
input becomes a guard. A hook on a node would run in the backward, which an exported program does not have.
"""

from __future__ import annotations

import dis
import inspect
from functools import partial
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.torch_internals._torch_pytree import keystr
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.effects import requires_grad as lost_gradients
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.strings import discarded
from dynamo_lite.tracing.tensors import side_differences
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_wrapped

_HOOKS = frozenset({"register_hook", "register_prehook"})
_MODULE_HOOKS = ("full_backward_hooks", "non_full_backward_hooks", "backward_pre_hooks")
"""Variables of nn.Module._call_impl (torch/nn/modules/module.py, 2.13.0)."""
_FLAGS = frozenset({"is_leaf", "retains_grad"})
FLAGS = _FLAGS | {"requires_grad", "grad_fn"}
"""The attributes of a tensor that `flag` answers."""


class GraphNodes(FeatureState):
    """The `grad_fn` of tensors that the program has read, by id. left_out: hooks of modules that are not registered, as
    they change no gradient, and where."""

    stays = "whether a merged result has a node that was asked for is refused (control_flow)"

    def __init__(self, tracer: TracerView) -> None:
        self.by_id: dict[int, Any] = {}
        self.left_out: list[tuple[str, Mark]] = []


def note(tracer: TracerView, node: Any) -> None:
    """Record that the program has the `grad_fn` of a tensor: from now on its uses are checked."""
    tracer.own(GraphNodes).by_id[id(node)] = node
    tracer.plans.wake("autograd")
    tracer.readers[type(node)] = read
    tracer.reads.seen.clear()


def read(tracer: TracerView, node: Any, key: str, value: Any) -> Any:
    """The program, or torch for it, reads an attribute of a node. Raises what ends the trace."""
    if id(node) not in tracer.own(GraphNodes).by_id:
        return NOT_HANDLED
    if key in _HOOKS:
        hooks = _hooks_of_the_module(tracer)
        if not hooks or not all(map(_returns_nothing, hooks)):
            tracer.refuse("gradient-hook", function=_hook(tracer, key))
        tracer.own(GraphNodes).left_out.append((_hook(tracer, key), tracer.mark()))
        tracer.note(f"{_hook(tracer, key)} is not part of the program; it returns nothing, so it changes no gradient")
    if not tracer.in_library():
        tracer.refuse("autograd-graph")
    return NOT_HANDLED


def _hook(tracer: TracerView, key: str) -> str:
    if not tracer.in_library():
        return f"{key}() of a grad_fn"
    path, name = next(reversed(tracer.modules.current.values()), ("", ""))
    return f"a backward hook of the module {path!r}, a {name}" if path else f"a backward hook of the module, a {name}"


def _hooks_of_the_module(tracer: TracerView) -> list[Any]:
    """The backward hooks that nn.Module is about to register; [] where the program itself registers one."""
    frame = tracer.vm.frame
    while frame is not None and str(frame.globals.get("__name__", "")).startswith("torch."):
        names = frame.f_locals()
        if "non_full_backward_hooks" in names:
            return [hook for name in _MODULE_HOOKS for hook in names[name]]
        frame = frame.back
    return []


def _returns_nothing(hook: Any) -> bool:
    """Whether a hook only looks: each of its returns is of None, and it calls no method that works in place."""
    while isinstance(hook, partial):
        hook = hook.func
    code = getattr(getattr(hook, "__func__", hook), "__code__", None)
    if code is None:
        return False
    code = original_code(code)
    if code.co_flags & inspect.CO_GENERATOR:
        return False
    before: dis.Instruction | None = None
    for at in dis.get_instructions(code):
        if at.opname == "RETURN_CONST" and at.argval is not None:
            return False
        if at.opname == "RETURN_VALUE":
            none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
            if not none or at.is_jump_target:
                return False
        before = at
    return not any(name.endswith("_") and not name.startswith("__") for name in code.co_names)


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """Return the step of a call plan for a callable that may look at a node among its arguments."""
    if type(fn) is FunctionType or fn is print or id(fn) in tracer.plans.skipped:
        return None
    return check_call


def check_call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """C code is given a node (`type(y.grad_fn)`, `repr(y.grad_fn)`). Raises what ends the trace."""
    if tracer.in_library() or discarded.is_dropped(tracer):
        return NOT_HANDLED
    if any(id(arg) in tracer.own(GraphNodes).by_id for arg in args):
        tracer.refuse("autograd-graph")
    return NOT_HANDLED


def check_text(tracer: TracerView, text: str) -> None:
    """A text is made of parts; one of them may be that of a node (`f"{y.grad_fn}"`). Raises what ends the trace."""
    if not any(object.__repr__(node) in text for node in tracer.own(GraphNodes).by_id.values()):
        return
    if not (tracer.in_library() or discarded.is_dropped(tracer)):
        tracer.refuse("autograd-graph")


def flag(tracer: TracerView, owner: torch.Tensor, key: str, value: Any) -> Any:
    """Return `owner.<key>` as in eager, for a key of FLAGS; the answer holds for inputs like the example's."""
    if not is_fake(owner) or is_wrapped(owner) or not (owner.is_floating_point() or owner.is_complex()):
        return value
    number = tracer.recorder.input_number(owner)
    if number is not None:
        leaf = tracer.inputs.leaves[number]
        if key == "requires_grad":
            _guard(tracer, number, f"requires_grad is {leaf.requires_grad}")
        elif key == "grad_fn":
            _guard(tracer, number, f"grad_fn is {'None' if leaf.grad_fn is None else 'not None'}")
            return leaf.grad_fn
        else:
            value = getattr(leaf, key)
            _guard(tracer, number, f"{key} is {value}")
    elif key in ("requires_grad", "grad_fn", "is_leaf") and not tracer.recorder.is_input(owner):
        if tracer.own(SideDifferences).differ and not tracer.in_library():
            why = "whether a tensor requires grad is asked for behind a branch that gives one on one side only"
            tracer.refuse("branch-unsupported", why=why)
        if key != "requires_grad":
            side_differences.check(tracer, key)
        _guard_all(tracer, owner)
    return value


def check_base(tracer: TracerView, owner: torch.Tensor, base: Any) -> None:
    """`owner._base`: the fake tensor of an input is not a view, and so it is the base of its views."""
    if tracer.recorder.input_number(owner) is None:
        side_differences.check(tracer, "_base")
    for tensor in (owner, base):
        number = None if tensor is None else tracer.recorder.input_number(tensor)
        if number is not None:
            is_view(tracer, number)


def is_view(tracer: TracerView, number: int) -> bool:
    """Whether a flat input is a view; it holds for inputs like the example's. Refuses to name the base of one."""
    found = bool(tracer.inputs.leaves[number]._is_view())
    if found:
        tracer.refuse("autograd-graph")
    _guard(tracer, number, "_base is None")
    return found


def requires_grad(tracer: TracerView, tensor: torch.Tensor) -> bool:
    """Whether a tensor of the program requires grad, for a rule."""
    return bool(flag(tracer, tensor, "requires_grad", tensor.requires_grad))


def call_deep_copy(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`copy.deepcopy(tensor)`: it requires grad if the tensor does; eager raises if the tensor is not a leaf."""
    if args and is_fake(args[0]):
        requires_grad(tracer, args[0])
        flag(tracer, args[0], "is_leaf", args[0].is_leaf)
    return NOT_HANDLED


def _guard_all(tracer: TracerView, owner: torch.Tensor) -> None:
    """`owner` is a result: whether it requires grad depends on the inputs, unless a parameter decides."""
    leaves = tracer.inputs.leaves
    if owner.requires_grad and lost_gradients.requires_grad_without_inputs(tracer.recorder, owner):
        return
    if not torch.is_grad_enabled() and not owner.requires_grad and not tracer.own(SideDifferences).hands_on:
        return
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex()):
            _guard(tracer, number, f"requires_grad is {leaf.requires_grad}")


def _guard(tracer: TracerView, number: int, text: str) -> None:
    """Adds the guard `L['x'].<text>` on a flat input."""
    inputs = tracer.inputs
    paths = inputs.key_paths
    if ambiguous(paths):  # torch cannot write a guard on these
        tracer.refuse("autograd-graph")
    tracer.own(InputGuards).add(f"L{keystr(paths[number])}.{text}")
