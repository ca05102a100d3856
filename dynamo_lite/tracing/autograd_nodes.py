"""Questions about the autograd graph: `grad_fn`, and the flags that say how a tensor takes part in it.

The stand-ins have an autograd graph of their own: results from memory (capture/memo.py) have another node than eager's,
and an input is always a leaf. So a node may be compared with None and with itself, and no more; a flag of an input
becomes a guard. A hook on a node would run in the backward, which an exported program does not hold.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.program.size_check import ambiguous, input_paths
from dynamo_lite.tracing import dropped_text, lost_gradients
from dynamo_lite.tracing.kinds import is_fake, is_wrapped

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer

_HOOKS = frozenset({"register_hook", "register_prehook"})
_FLAGS = frozenset({"is_leaf", "retains_grad"})
FLAGS = _FLAGS | {"requires_grad", "grad_fn"}
"""The attributes of a tensor that `flag` answers."""


def read(tracer: Tracer, node: Any, key: str) -> None:
    """The program, or torch for it, reads an attribute of a node. Raises what ends the trace."""
    if key in _HOOKS:
        tracer.refuse("gradient-hook", function=_hook(tracer, key))
    if not tracer.in_library():
        tracer.refuse("autograd-graph")


def _hook(tracer: Tracer, key: str) -> str:
    if not tracer.in_library():
        return f"{key}() of a grad_fn"
    path, name = next(reversed(tracer.modules.current.values()), ("", ""))
    return f"a backward hook of the module {path!r}, a {name}" if path else f"a backward hook of the module, a {name}"


def check_call(tracer: Tracer, fn: Any, args: tuple[Any, ...]) -> None:
    """C code is given a node (`type(y.grad_fn)`, `repr(y.grad_fn)`). Raises what ends the trace."""
    if type(fn) is FunctionType or fn is print or tracer.in_library() or dropped_text.is_dropped(tracer):
        return
    if any(id(arg) in tracer.graph_nodes for arg in args):
        tracer.refuse("autograd-graph")


def check_text(tracer: Tracer, text: str) -> None:
    """A text is made of parts; one of them may be that of a node (`f"{y.grad_fn}"`). Raises what ends the trace."""
    if not any(object.__repr__(node) in text for node in tracer.graph_nodes.values()):
        return
    if not (tracer.in_library() or dropped_text.is_dropped(tracer)):
        tracer.refuse("autograd-graph")


def flag(tracer: Tracer, owner: torch.Tensor, key: str, value: Any) -> Any:
    """What `owner.<key>` is in eager, for a key of FLAGS; the answer holds for inputs like the example's."""
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
        _guard_all(tracer, owner)
    return value


def requires_grad(tracer: Tracer, tensor: torch.Tensor) -> bool:
    """Whether a tensor of the program requires grad, where a rule asks for the program."""
    return bool(flag(tracer, tensor, "requires_grad", tensor.requires_grad))


def _guard_all(tracer: Tracer, owner: torch.Tensor) -> None:
    """`owner` is a result: whether it requires grad depends on the inputs, unless a parameter decides."""
    leaves = tracer.inputs.leaves
    if owner.requires_grad and lost_gradients.requires_grad_without_inputs(tracer.recorder, owner):
        return
    if not torch.is_grad_enabled() and not owner.requires_grad:
        return
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex()):
            _guard(tracer, number, f"requires_grad is {leaf.requires_grad}")


def _guard(tracer: Tracer, number: int, text: str) -> None:
    """Adds the guard `L['x'].<text>` on a flat input."""
    inputs = tracer.inputs
    paths = input_paths(inputs.spec, inputs.arg_names, inputs.leaves)
    if ambiguous(paths):  # torch cannot write a guard on these
        tracer.refuse("autograd-graph")
    guard = f"L{torch.utils._pytree.keystr(paths[number])}.{text}"
    if guard not in tracer.guards:
        tracer.guards.append(guard)
