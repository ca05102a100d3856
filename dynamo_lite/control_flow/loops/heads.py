"""Calls and tensors at the head of a `for` statement: `range(n)`, `enumerate(x)`, `zip(x, y)`, `x.unbind(0)`.

If their length is a symbolic size they become Iterations (counted.py), which only the loop can use. The result of the
call must therefore go straight into a GET_ITER, through nothing but such calls; this is checked ahead.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import BuiltinMethodType, FunctionType, GeneratorType, MethodType
from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items.computed import MappedIterations, filtered, iterations_of_expression
from dynamo_lite.control_flow.items.consumed import CONSUMERS, as_generator, take
from dynamo_lite.control_flow.lists.grown import GrownList, GrownTuple
from dynamo_lite.control_flow.lists.varying import make_list
from dynamo_lite.control_flow.loops.counted import (
    EnumeratedIterations,
    Iterations,
    NeighbourIterations,
    PieceIterations,
    RangeIterations,
    RowIterations,
    ZippedIterations,
    is_open_size,
)
from dynamo_lite.control_flow.loops.fixed import pairs_of
from dynamo_lite.control_flow.loops.listed import ListedIterations, listed
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.stack_effects import STACK_EFFECTS
from dynamo_lite.interpreter.frames.generators import frame_of
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.sizes import builtin_calls
from dynamo_lite.tracing.vocabulary.symbolic_numbers import concrete
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_THROUGH = (enumerate, zip, reversed, map, filter, pairwise)
_INTO = (torch.tensor, torch.as_tensor, torch.cat, torch.concat, torch.concatenate, torch.stack, len)
"""Functions that read the items of their argument (lists/varying.py), in addition to CONSUMERS."""
_NAMES = {fn: name for name, fn in HANDLERS.items()}


_READS = ("GET_ITER", "LIST_EXTEND")
_DROPS = ("STORE_FAST", "STORE_DEREF", "POP_TOP")
_HOLDS = {"STORE_FAST": 0, "STORE_DEREF": 0, "RETURN_VALUE": 0, "STORE_ATTR": 1, "STORE_SUBSCR": 2, "BINARY_SUBSCR": 1,
          "BINARY_SLICE": 2, "BINARY_OP": 1}  # fmt: skip
"""Instructions that keep a list, or make another of it: how many values they take that are above it."""


def sink_of(frame: Any, or_list: bool) -> str:
    """The place that the result of the current call goes into: "for", at once, or as an argument of enumerate, zip,
    map; or_list: `list()`, torch.tensor() as well; "list": a variable, an attribute, a subscript, a call of the
    program's own, where it has to be a list. "" for anything else.

    `above` counts the values above it on the stack; `below` is how much of the stack from before is still there.
    """
    above, below = 0, len(frame.stack)
    for handler, arg in frame.info.ops[frame.pc :]:
        name = _NAMES[handler]
        takes, leaves = STACK_EFFECTS.get(name, (0, 0))
        if name in _MAKES:  # a lambda beside it: max(x, key=...)
            takes, leaves = _taken(name, arg), 1
        if leaves and above >= takes:
            above += leaves - takes
        elif above and name in _DROPS:
            above -= 1
        elif name in _READS:
            return "for" if above == 0 and (or_list or name == "GET_ITER") else ""
        elif name in _HOLDS or name in _DISPLAYS:
            is_operand = above < arg if name in _DISPLAYS else above == _HOLDS[name]
            return "list" if is_operand and or_list else ""
        elif name == "SWAP":
            above, below = (arg - 1 if above == 0 else 0 if above == arg - 1 else above), -1
        elif name in ("CALL", "CALL_KW") and above >= arg + 2 + (name == "CALL_KW"):
            above -= arg + 1 + (name == "CALL_KW")
        elif name in ("CALL", "CALL_KW") and above - (name == "CALL_KW") < arg:
            above -= name == "CALL_KW"  # the names of its arguments
            below -= arg - above - 1  # the arguments before it
            callee = frame.stack[below - 2 : below] if below >= 2 else []
            if any(_consumes(value) for value in callee):
                return "for" if or_list else ""
            if any(type(value) in _OWN_CODE or value is iter for value in callee):
                return "list" if or_list else ""
            if not any(value is fn for value in callee for fn in _THROUGH):
                return ""
            above, below = 0, below - 2
        else:
            return ""
    return ""


_MAKES = ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE", "BINARY_SLICE", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
_DISPLAYS = ("BUILD_TUPLE", "BUILD_LIST")
_OWN_CODE = (FunctionType, MethodType)


def _taken(name: str, arg: Any) -> int:
    """How many values an instruction takes that makes a function, the tuple of its closure, a list or a slice."""
    if name in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE"):
        return int(arg)
    if name == "BINARY_SLICE":
        return 3
    return 2 if name == "SET_FUNCTION_ATTRIBUTE" else 1 + ((arg or 0) & 15).bit_count()


def _consumes(callee: Any) -> bool:
    """Whether a callable takes the items of its argument one by one."""
    if type(callee) is BuiltinMethodType and callee.__name__ == "extend":
        return type(callee.__self__) in (list, GrownList)
    return id(callee) in CONSUMERS or any(callee is fn for fn in _INTO)


def rows_of(tracer: Forking, value: Any, dim: Any = 0) -> Iterations | None:
    """Return the iterations of a loop over `value` if its length is symbolic."""
    if isinstance(value, Iterations):
        return value
    if isinstance(value, GrownList):
        return value.iterations()
    if not is_tensor(value) or type(dim) is not int or not -value.dim() <= dim < value.dim():
        return None
    return RowIterations(tracer, value, dim % value.dim()) if is_open_size(value.shape[dim]) else None


def _all_iterations(tracer: Forking, values: Sequence[Any]) -> list[Iterations] | None:
    """What a loop over several values goes over; of generator expressions as well, which `_at_head` takes over."""
    generators = [id(value) for value in values if type(value) is GeneratorType]
    if len({*generators}) < len(generators):
        return None  # zip(g, g): pairs of its items
    found, is_open = [], False
    for value in values:
        is_generator = type(value) is GeneratorType
        iterations = iterations_of_expression(tracer, value) if is_generator else rows_of(tracer, value)
        is_open = is_open or iterations is not None
        if iterations is None and len(values) > 1 and is_tensor(value) and value.dim():
            iterations = RowIterations(tracer, value, 0)  # of a length that does not vary, beside one that does
        if iterations is None:
            return None
        found.append(iterations)
    return found if is_open else None


# -- rules: (tracer, fn, args, kwargs) → Iterations, or the result of `otherwise` -----------------------------------


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
    made = RangeIterations(tracer, start, stop, step)
    return made if is_open_size(made.count) else None


def _is_positive(tracer: Forking, number: Any) -> bool:
    """Whether a number is known to be at least 1."""
    answer = number >= 1
    if type(answer) is bool:
        return answer
    return tracer.recorder.env is not None and tracer.recorder.env.decide_node(answer.node) is True


def _pieces(tracer: Forking, tensor: Any, size: Any, dim: Any) -> Iterations | None:
    """tensor.split(size, dim), if how many pieces there are depends on a size."""
    if not is_tensor(tensor) or type(size) not in (int, torch.SymInt) or type(dim) is not int:
        return None
    if not -tensor.dim() <= dim < tensor.dim() or not _is_positive(tracer, size):
        return None
    made = PieceIterations(tracer, tensor, size, dim % tensor.dim())
    if not is_open_size(made.count):
        return None
    if _is_positive(tracer, made.length):
        return made
    has_row: Any = made.length >= 1  # of no row there is one piece
    return made if has_row.node.has_hint() and has_row else None


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
    of = _all_iterations(tracer, args[:1])
    return EnumeratedIterations(of[0], start) if of is not None else None


def _zip(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    parts = _all_iterations(tracer, args) if args and not kwargs else None
    if parts is None:
        return None
    made = ZippedIterations(parts)
    return made if made.is_even or not made.computes else None


def _pairwise(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    of = _all_iterations(tracer, args) if len(args) == 1 and not kwargs else None
    return None if of is None or of[0].computes else NeighbourIterations(of[0])


def _map(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    of = _zip(tracer, args[1:], kwargs)
    return None if of is None else MappedIterations(tracer, args[0], of)


def _filter(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    of = _all_iterations(tracer, args[1:]) if len(args) == 2 and not kwargs else None
    return None if of is None else filtered(tracer, args[0], of[0])


def _reversed(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    of = rows_of(tracer, args[0]) if len(args) == 1 and not kwargs and not is_tensor(args[0]) else None
    return None if of is None or of.computes else of.backwards()


def _unbind(tracer: Forking, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not 1 <= len(args) <= 2 or not kwargs.keys() <= {"dim"}:
        return None
    return rows_of(tracer, args[0], kwargs.get("dim", args[1] if len(args) == 2 else 0))


def _at_head(make: Callable[..., Any], otherwise: Rule | None, makes_lists: bool) -> Rule:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame: Any = tracer.vm.frame
        calls = frame is not None and _NAMES[frame.info.ops[frame.pc - 1][0]] in ("CALL", "CALL_KW")
        sink = sink_of(frame, makes_lists) if calls else ""
        if sink == "list":
            made = None if fn is builtins.range else make(tracer, args, kwargs)
            made = made if not isinstance(made, Iterations) else kept(tracer, fn, made)
        else:
            made = make(tracer, args, kwargs) if sink else None
            if made is None and sink and sink_of(frame, False):
                made = pairs_of(tracer, fn, args, kwargs)
        if made is not None:
            for arg in args:
                if type(arg) is GeneratorType and (taken := frame_of(arg)) is not None:
                    take(tracer, taken)
            return made
        if any(isinstance(arg, Iterations) for arg in args):
            return tracer.vm.call(fn, tuple([unrolled(tracer, arg) for arg in args]), kwargs)
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def kept(tracer: Forking, fn: Any, iterations: Iterations) -> Any:
    """Return the value that the program may keep in a variable: a tuple of tensors, a list, or an iterator."""
    if fn in _THROUGH:
        return as_generator(tracer, iterations)
    return make_list(GrownList if type(iterations) is ListedIterations else GrownTuple, tracer, iterations)


def unrolled(tracer: Forking, value: Any) -> Any:
    """Return the items in terms of the example's length, which becomes fixed."""
    if not isinstance(value, Iterations):
        return value
    with builtin_calls.needs_number(tracer, "range"):
        return value.rest(concrete(torch.sym_max(value.count, 0)), 0)


_RULES_OF_LOOPS: tuple[tuple[Any, Any], ...] = (
    (builtins.range, _range),
    (builtins.enumerate, _enumerate),
    (builtins.zip, _zip),
    (pairwise, _pairwise),
    (builtins.reversed, _reversed),
    (torch.Tensor.unbind, _unbind),
    (torch.unbind, _unbind),
    (torch.Tensor.split, _split),
    (torch.split, _split),
    (torch.Tensor.chunk, _chunk),
    (torch.chunk, _chunk),
    (torch.Tensor.tolist, listed),
)


_RULES = (*_RULES_OF_LOOPS, (builtins.map, _map), (builtins.filter, _filter))


def attach(rules: dict[int, Rule], makes_lists: bool) -> None:
    """Put the rules into a tracer's table, before those that are there. makes_lists: `list(range(n))` is captured."""
    for fn, make in _RULES if makes_lists else _RULES_OF_LOOPS:
        rules[id(fn)] = _at_head(make, rules.get(id(fn)), makes_lists)
