"""Calls and tensors at the head of a `for` statement: `range(n)`, `enumerate(x)`, `zip(x, y)`, `x.unbind(0)`.

Where their length is a symbolic size they become Rounds (counted.py), which nothing but the loop can use. So it is
looked ahead first: the value of the call has to go straight into a GET_ITER, through nothing but such calls.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.loops.counted import (
    EnumeratedRounds,
    PieceRounds,
    RangeRounds,
    Rounds,
    RowRounds,
    ZippedRounds,
)
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.stack_effects import STACK_EFFECTS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_THROUGH = (enumerate, zip, reversed)
_INTO = (list, tuple, torch.tensor, torch.as_tensor)
"""What makes a list of its argument, or reads its items (lists/made.py)."""
_NAMES = {fn: name for name, fn in HANDLERS.items()}


def goes_into_for(frame: Any, or_list: bool) -> bool:
    """Whether what the current call returns goes into a `for`: at once, or as an argument of enumerate, zip, reversed.
    or_list: or into `list()` or torch.tensor().

    What stands above it on the stack is counted; `below` is how much of the stack from before is still there.
    """
    above, below = 0, len(frame.stack)
    for handler, arg in frame.info.ops[frame.pc :]:
        name = _NAMES[handler]
        takes, leaves = STACK_EFFECTS.get(name, (0, 0))
        if leaves and above >= takes:
            above += leaves - takes
        elif name == "GET_ITER":
            return above == 0
        elif name in ("CALL", "CALL_KW") and above >= arg + 2 + (name == "CALL_KW"):
            above -= arg + 1 + (name == "CALL_KW")
        elif name in ("CALL", "CALL_KW") and above - (name == "CALL_KW") < arg:
            above -= name == "CALL_KW"  # the names of its arguments
            below -= arg - above - 1  # the arguments before it
            callee = frame.stack[below - 2 : below]
            if below >= 2 and any(value is fn for value in callee for fn in _INTO):
                return or_list
            if below < 2 or not any(value is fn for value in callee for fn in _THROUGH):
                return False
            above, below = 0, below - 2
        else:
            return False
    return False


def is_open_size(value: Any) -> bool:
    """Whether a number is a symbol: of the input's sizes, or one that only run time knows."""
    return type(value) is torch.SymInt and value.node.maybe_as_int() is None


def rows_of(tracer: Forking, value: Any, dim: Any = 0) -> Rounds | None:
    """What a loop over `value` goes over if its length is symbolic."""
    if isinstance(value, Rounds):
        return value
    if isinstance(value, GrownList):
        return value.rounds()
    if not is_tensor(value) or type(dim) is not int or not -value.dim() <= dim < value.dim():
        return None
    return RowRounds(tracer, value, dim % value.dim()) if is_open_size(value.shape[dim]) else None


# -- rules: (tracer, fn, args, kwargs) → Rounds, or what `otherwise` says ----------------------------------------------


def _number(tracer: Forking, value: Any) -> Any:
    return value if value.is_floating_point() else tracer.vm.call(torch.Tensor.item, (value,))


def _range(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or not 1 <= len(args) <= 3:
        return None
    args = tuple(_number(tracer, a) if is_tensor(a) and a.numel() == 1 else a for a in args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    numbers = all(type(a) in (int, torch.SymInt) for a in args)
    if not numbers or not (_is_positive(tracer, step) or (type(step) is int and step)):
        return None
    if not any(map(is_open_size, args)):
        return None
    made = RangeRounds(tracer, start, stop, step)
    return made if is_open_size(made.count) else None


def _is_positive(tracer: Forking, number: Any) -> bool:
    """Whether a number is known to be at least 1."""
    answer = number >= 1
    if type(answer) is bool:
        return answer
    return tracer.recorder.env is not None and tracer.recorder.env.decide_node(answer.node) is True


def _pieces(tracer: Forking, tensor: Any, size: Any, dim: Any) -> Rounds | None:
    """tensor.split(size, dim), if how many pieces there are depends on a size."""
    if not is_tensor(tensor) or type(size) not in (int, torch.SymInt) or type(dim) is not int:
        return None
    if not -tensor.dim() <= dim < tensor.dim() or not _is_positive(tracer, size):
        return None
    made = PieceRounds(tracer, tensor, size, dim % tensor.dim())
    return made if is_open_size(made.count) and _is_positive(tracer, made.length) else None


def _split(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("tensor", "split_size", "dim"), args)) | {
        "split_size" if name == "split_size_or_sections" else name: value for name, value in kwargs.items()
    }
    tensor, size, dim = given.pop("tensor", None), given.pop("split_size", None), given.pop("dim", 0)
    return _pieces(tracer, tensor, size, dim) if not given else None


def _chunk(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("input", "chunks", "dim"), args)) | kwargs
    tensor, chunks, dim = given.pop("input", None), given.pop("chunks", None), given.pop("dim", 0)
    if given or not is_tensor(tensor) or type(chunks) is not int or chunks < 1 or type(dim) is not int:
        return None
    if not -tensor.dim() <= dim < tensor.dim() or not is_open_size(tensor.shape[dim]):
        return None
    return _pieces(tracer, tensor, (tensor.shape[dim] + chunks - 1) // chunks, dim)


def _enumerate(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    start = kwargs.get("start", args[1] if len(args) == 2 else 0)
    if not 1 <= len(args) <= 2 or not kwargs.keys() <= {"start"} or type(start) not in (int, torch.SymInt):
        return None
    of = rows_of(tracer, args[0])
    return EnumeratedRounds(of, start) if of is not None else None


def _zip(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    parts = [rows_of(tracer, arg) for arg in args] if args and not kwargs else [None]
    return None if None in parts else ZippedRounds([part for part in parts if part is not None])


def _reversed(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0].backwards() if len(args) == 1 and isinstance(args[0], Rounds) else None


def _unbind(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not 1 <= len(args) <= 2 or not kwargs.keys() <= {"dim"}:
        return None
    return rows_of(tracer, args[0], kwargs.get("dim", args[1] if len(args) == 2 else 0))


def _at_head(make: Callable[..., Any], otherwise: Rule | None, makes_lists: bool) -> Rule:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = tracer.vm.frame
        calls = frame is not None and _NAMES[frame.info.ops[frame.pc - 1][0]] in ("CALL", "CALL_KW")
        made = make(tracer, args, kwargs) if calls and goes_into_for(frame, makes_lists) else None
        if made is not None:
            return made
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


_RULES: tuple[tuple[Any, Any], ...] = (
    (builtins.range, _range),
    (builtins.enumerate, _enumerate),
    (builtins.zip, _zip),
    (builtins.reversed, _reversed),
    (torch.Tensor.unbind, _unbind),
    (torch.unbind, _unbind),
    (torch.Tensor.split, _split),
    (torch.split, _split),
    (torch.Tensor.chunk, _chunk),
    (torch.chunk, _chunk),
)


def attach(rules: dict[int, Rule], makes_lists: bool) -> None:
    """Put the rules into a tracer's table, before those that are there. makes_lists: `list(range(n))` is captured."""
    for fn, make in _RULES:
        rules[id(fn)] = _at_head(make, rules.get(id(fn)), makes_lists)
