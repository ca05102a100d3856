"""C code that evaluates the truth of tensors: `max(t, 5)`, `t in [1, 2]`, `sorted(x)`, `[t] == [1]`.

The program has no branch at this line, so the error names the C function, and what to write instead. The function is
read off the Python frames of this process at the time of the query: the innermost one that hands a call or an operator
to C (`Trampolines`), unless the interpreter has entered a function of the program since.
"""

from __future__ import annotations

import bisect
import builtins
import dis
import heapq
import itertools
import linecache
import math
import operator
import sys
from collections import deque
from types import FrameType
from typing import Any, NamedTuple

import torch

from dynamo_lite.interpreter.datamodel.protocols import opened_next
from dynamo_lite.interpreter.datamodel.trampolines import Trampolines
from dynamo_lite.interpreter.vm import Interpreter
from dynamo_lite.tracing.interfaces import TracerView


class Decision(NamedTuple):
    """`name`, as the program writes it, evaluates the truth of tensors; `instead` is the replacement to write."""

    name: str
    instead: str

    @property
    def what(self) -> str:
        return f"{self.name} decides by the data of a tensor, which is not known during export."


_SORT = "use torch.sort or torch.topk (of torch.stack(tensors), for several)."
_MASK = "use torch.where with a mask, or x[mask] for a result of the size that the data gives."
_POSITION = "use (torch.stack(tensors) == t) and torch.argmax of it: the position as a tensor."
_COUNT = "use (torch.stack(tensors) == t).sum()."
_IN = "use torch.isin(t, torch.tensor(values)) or (x == t).any(), and torch.where to go by the answer."
_COMPARE = "compare the tensors in them: torch.eq, (a == b).all(), and torch.where to go by the answer."
_SEARCH = "use torch.searchsorted or torch.bucketize."

_HEAPS = ["heappush", "heappop", "heapify", "heapreplace", "heappushpop"]
HEAPS = tuple(getattr(heapq, name) for name in (*_HEAPS, *(f"{name}_max" for name in _HEAPS)) if hasattr(heapq, name))
"""The functions of heaps that are written in C; those of max-heaps are public from Python 3.14 on."""

INSTEAD: dict[Any, Decision] = {
    builtins.max: Decision(
        "max()", "use torch.maximum(a, b), torch.clamp(a, min=number), or torch.stack(tensors).amax(0)."
    ),
    builtins.min: Decision(
        "min()", "use torch.minimum(a, b), torch.clamp(a, max=number), or torch.stack(tensors).amin(0)."
    ),
    builtins.sorted: Decision("sorted()", _SORT),
    list.sort: Decision("list.sort()", _SORT),
    builtins.any: Decision("any()", "use torch.any, and torch.where to go by its answer."),
    builtins.all: Decision("all()", "use torch.all, and torch.where to go by its answer."),
    builtins.filter: Decision("filter()", _MASK),
    itertools.filterfalse: Decision("itertools.filterfalse()", _MASK),
    itertools.compress: Decision("itertools.compress()", _MASK),
    itertools.takewhile: Decision("itertools.takewhile()", "use torch.cumprod of the mask, and torch.where."),
    itertools.dropwhile: Decision("itertools.dropwhile()", "use torch.cumprod of the mask, and torch.where."),
    itertools.groupby: Decision("itertools.groupby()", "use torch.unique_consecutive."),
    list.index: Decision("list.index()", _POSITION),
    tuple.index: Decision("tuple.index()", _POSITION),
    deque.index: Decision("deque.index()", _POSITION),
    operator.indexOf: Decision("operator.indexOf()", _POSITION),
    list.count: Decision("list.count()", _COUNT),
    tuple.count: Decision("tuple.count()", _COUNT),
    deque.count: Decision("deque.count()", _COUNT),
    operator.countOf: Decision("operator.countOf()", _COUNT),
    list.remove: Decision("list.remove()", "remove by position (del tensors[i]), or by identity (is)."),
    deque.remove: Decision("deque.remove()", "remove by position (del tensors[i]), or by identity (is)."),
    operator.contains: Decision("`in`", _IN),
    list.__contains__: Decision("`in`", _IN),
    tuple.__contains__: Decision("`in`", _IN),
    operator.eq: Decision("`==` of containers", _COMPARE),
    operator.ne: Decision("`!=` of containers", _COMPARE),
    operator.lt: Decision("`<` of containers", _COMPARE),
    operator.le: Decision("`<=` of containers", _COMPARE),
    operator.gt: Decision("`>` of containers", _COMPARE),
    operator.ge: Decision("`>=` of containers", _COMPARE),
    bisect.bisect_left: Decision("bisect.bisect_left()", _SEARCH),
    bisect.bisect_right: Decision("bisect.bisect_right()", _SEARCH),
    bisect.insort_left: Decision("bisect.insort_left()", _SEARCH),
    bisect.insort_right: Decision("bisect.insort_right()", _SEARCH),
    **{fn: Decision(f"heapq.{fn.__name__}()", _SORT) for fn in HEAPS},
    math.isclose: Decision("math.isclose()", "use torch.isclose, and torch.where to go by its answer."),
}
"""C callable (or operator) → its name in a program, and the replacement to write."""
_BY_ID = {id(fn): row for fn, row in INSTEAD.items()}  # a callable's own hash may be the program's

_LAZY = (filter, itertools.filterfalse, itertools.compress, itertools.takewhile, itertools.dropwhile, itertools.groupby)
"""Iterators that decide when an element is taken: `list(filter(None, x))`."""
_TENSOR_CONTAINS = torch.Tensor.__contains__.__code__
_HANDS_OVER = {
    Trampolines.call.__code__: ("key", "operands"),
    Trampolines.apply.__code__: ("operation", "operands"),
    Trampolines.apply_shallow.__code__: ("operation", "operands"),
    opened_next.__code__: ("next", "iterator_and_end"),
}
"""Code that hands something to C → the names of its variables with the callable and its operands."""
_INTERPRETS = frozenset({Interpreter.run.__code__, Interpreter.run_until.__code__})


def decision(tracer: TracerView) -> Decision | None:
    """Return the C function that is evaluating a tensor's truth; None if it is the program or another caller."""
    if not tracer.sees_python:
        return _of_native_code()
    handed_over = at_work_in_c()
    if handed_over is not None:
        return _of_call(*handed_over)
    at_work = tracer.vm.frame
    return INSTEAD[operator.contains] if at_work is not None and at_work.code is _TENSOR_CONTAINS else None


def at_work_in_c() -> tuple[Any, tuple[Any, ...]] | None:
    """(the callable, its operands) that the interpreter has handed to C and waits for; None if it runs a function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in _INTERPRETS:
        names = _HANDS_OVER.get(frame.f_code)
        if names is not None:
            callee, operands = names
            return frame.f_locals.get(callee), frame.f_locals[operands]
        frame = frame.f_back
    return None


def _of_native_code() -> Decision | None:
    """The same where CPython runs the program (strict=False): by the instruction that its innermost frame is at."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _NOT_THE_PROGRAM:
        frame = frame.f_back
    if frame is None:
        return None
    # Of a call of a function in Python CPython 3.11 names the end of its inline cache.
    passed = [at for at in dis.get_instructions(frame.f_code) if at.offset <= frame.f_lasti]
    at = passed[-1] if passed else None
    if at is None or at.positions is None:
        return None
    if at.opname == "CONTAINS_OP":
        return INSTEAD[operator.contains]
    first, last = at.positions.lineno, at.positions.end_lineno
    if not at.opname.startswith("CALL") or first is None or first != last:
        return None
    line = linecache.getline(frame.f_code.co_filename, first).encode()  # positions count bytes
    name = line[at.positions.col_offset : at.positions.end_col_offset].decode().partition("(")[0].strip()
    called = frame.f_locals.get(name, frame.f_globals.get(name, getattr(builtins, name, None)))
    return _BY_ID.get(id(getattr(called, "__wrapped__", called)))  # of min and max a function of ours (type_shims.py)


_NOT_THE_PROGRAM = frozenset({"dynamo_lite", "torch"})


def compares(tracer: TracerView) -> bool:
    """Whether the current result of a function of the program goes to C code that compares it: a sort key."""
    decided = decision(tracer)
    return decided is not None and decided.name in _COMPARES


_COMPARES = frozenset(INSTEAD[fn].name for fn in (max, min, sorted, list.sort))


def _of_call(fn: Any, operands: tuple[Any, ...]) -> Decision | None:
    found = _BY_ID.get(id(fn))
    if found is not None:
        return found
    lazy = next((type(operand) for operand in operands if type(operand) in _LAZY), None)
    return None if lazy is None else INSTEAD[lazy]
