"""Operations of a program on a list whose length is known at run time only."""

from __future__ import annotations

import builtins
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import torch

from dynamo_lite.control_flow import wide_integers
from dynamo_lite.control_flow.emission import is_unknown, note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items import consumed
from dynamo_lite.control_flow.lists import grown, parts, ragged, slices, varying
from dynamo_lite.control_flow.lists.grown import GrownList, GrownTuple, where
from dynamo_lite.control_flow.lists.parts import Added
from dynamo_lite.control_flow.lists.ragged import RAGGED, along
from dynamo_lite.control_flow.loops import heads
from dynamo_lite.control_flow.loops.counted import Iterations, PieceIterations
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_GROWN: dict[type, type] = {GrownList: list, GrownTuple: tuple}
"""The types, and the types that the program sees."""


def stack(items: GrownList, dim: Any = 0) -> torch.Tensor:
    """torch.stack(items, dim)"""
    if items.numbers is not None:
        items.refuse()
    whole = items.stacked()
    if not items.has_item():
        items.check_filled(whole.shape[0])
    return whole.movedim(0, dim).clone(memory_format=torch.contiguous_format)


def cat(items: GrownList, dim: Any = 0) -> torch.Tensor:
    """torch.cat(items, dim)"""
    if items.numbers is not None:
        items.refuse()
    items.check_dtypes()
    wide, marks = [], []
    for part in items.known():
        flags = None
        if type(part) is PieceIterations and part.dim == dim % part.tensor.dim():
            part = part.tensor
        elif isinstance(part, Iterations):
            rows = part.rows()
            part = along(rows, dim % (rows.dim() - 1))
        elif type(part) is Added and part.are_ragged:
            part = _joined(items, part, dim)
        elif type(part) is Added:
            rows, flags = part.rows(items.tracer)
            at = dim % (rows.dim() - 1)
            if flags is not None:
                if any(is_unknown(size) for index, size in enumerate(rows.shape[1:]) if index != at):
                    items.tracer.refuse("branch-unsupported", why=RAGGED)  # an absent item has a size of 0
                flags = flags.unsqueeze(1).expand(-1, rows.shape[at + 1]).flatten()
            part = along(rows, at)
        wide.append(part)
        marks.append(flags)
    whole = torch.cat(wide, dim)
    if items.is_certain():
        return whole
    if not items.has_item():
        items.check_filled(items.how_many())
    present = [torch.ones((part.shape[dim],), dtype=torch.bool) if f is None else f for part, f in zip(wide, marks)]
    return whole.index_select(dim, where(torch.cat(present), whole))


def _joined(items: GrownList, part: Added, dim: int) -> torch.Tensor:
    """torch.cat of tensors that differ in length along `dim`."""
    (rows, *others), (lengths, *_) = part.tensors, part.lengths
    if others or lengths is None or dim % (rows.dim() - 1) != lengths.ragged.dim:
        items.tracer.refuse("branch-unsupported", why=RAGGED)
    return lengths.joined(items.tracer, rows)


def length(items: GrownList) -> Any:
    """len(items)"""
    return items.how_many()


_TENSORS: dict[Any, Callable[..., Any]] = {
    torch.stack: stack, torch.cat: cat, torch.concat: cat, torch.concatenate: cat, len: length
}  # fmt: skip


def _rule(make: Callable[..., Any], otherwise: Any) -> Any:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first: Any = args[0] if args else kwargs.get("tensors")
        if isinstance(first, Iterations):
            first = varying.make_list(GrownList, tracer, first)
            args = (first, *args[1:])
        if type(first) in _GROWN and not first.parts():  # nothing has been added on this side
            return tracer.vm.call(fn, ([], *args[1:]), {k: v for k, v in kwargs.items() if k != "tensors"})
        if type(first) not in _GROWN:
            return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)
        dim = args[1] if len(args) == 2 else kwargs.get("dim", 0)
        if len(args) > 2 or not kwargs.keys() <= {"dim", "tensors"} or type(dim) is not int:
            first.refuse()
        return make(first) if fn is len else make(first, dim)

    return rule


def _as_tensor(otherwise: Any) -> Any:
    """torch.tensor(keep) of numbers, or of tensors of no dimensions"""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and isinstance(args[0], Iterations):
            args = varying.make_list(GrownList, tracer, args[0]), *args[1:]
        if not args or type(args[0]) not in _GROWN:
            return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)
        if len(args) == 1 and (whole := varying.as_tensor(tracer, fn, args[0], kwargs)) is not None:
            return whole
        items, numbers = args[0], args[0].numbers
        if len(args) > 1 or not kwargs.keys() <= {"dtype", "device"}:
            items.refuse()
        if kwargs.get("dtype") is None and not items.has_item():
            items.check_filled(items.how_many(), kind=Exception)
            tracer.note("torch.tensor() of a list of numbers that may be empty: the program asserts that it is not")
        result = items.stacked()
        if numbers is None and result.dim() > 1:
            items.refuse()
        own = {int: torch.int64, float: torch.get_default_dtype(), None: result.dtype}[numbers]
        result = result.detach().to(dtype=kwargs.get("dtype") or own, device=kwargs.get("device"))
        return result.clone() if items.is_certain() else result

    return rule


def _sum(otherwise: Any) -> Any:
    """sum(losses), sum(keep): items that are absent count as zero"""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_grown = bool(args) and type(args[0]) in _GROWN
        if is_grown and len(args) + len(kwargs) == 2 and kwargs.keys() <= {"start"}:
            return _added_to(tracer, args[0], kwargs.get("start", args[-1]))
        if len(args) != 1 or kwargs or not is_grown:
            return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)
        items, numbers = args[0], args[0].numbers
        if numbers is float:
            items.refuse()
        rows = items.rows().tensor
        if numbers is int:
            return tracer.predicates.item(wide_integers.total(tracer, rows))
        if not items.has_item():
            items.check_filled(items.how_many(), kind=Exception)
            tracer.note("sum() of a list that may be empty: the program asserts that it is not")
        if type(rows.shape[0]) is not int:
            return rows.sum(0) if rows.dtype is torch.bool else rows.sum(0, dtype=rows.dtype)
        total: Any = 0
        for row in rows.unbind(0):  # one after the other, as Python adds them
            total = total + row
        return total

    return rule


def _added_to(tracer: Forking, items: GrownList, start: Any) -> Any:
    """sum(losses, start) of tensors like `start`, which is the result if there is none"""
    if items.numbers is not None or not is_tensor(start):
        items.refuse()
    rows = items.rows().tensor
    if rows.dtype is not start.dtype or rows.dtype is torch.bool or tuple(rows.shape[1:]) != tuple(start.shape):
        items.refuse()
    total = start + rows.sum(0, dtype=rows.dtype)
    if not items.has_item() and rows.requires_grad is not start.requires_grad:
        items.check_filled(items.how_many(), kind=Exception)
    elif not items.has_item():
        note_shared(tracer, total, [start])
    return total


def extended(tracer: Forking, target: list[Any], value: Any) -> Any:
    """Return `[*target, *value]`, the items of `value` being those of a counted loop (a generator, or such a list);
    else NOT_HANDLED. (`target` is only on the stack.)"""
    if isinstance(value, Iterations) and not value.computes:
        items: Any = varying.make_list(GrownList, tracer, value)
    elif type(value) in _GROWN:
        items = GrownList(tracer, value.known())
    else:
        items = consumed.as_list(tracer, value)
    if items is NOT_HANDLED or not target:
        return items
    if type(items) is GrownList or type(target) is GrownList:
        return target + items
    target.extend(items)
    return target


def _type(otherwise: Any) -> Any:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = _GROWN.get(type(args[0])) if len(args) == 1 else None
        return kind if kind is not None else otherwise(tracer, fn, args, kwargs)

    return rule


def _bool(otherwise: Any) -> Any:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return otherwise(tracer, fn, tuple(map(truth_of, args)), kwargs)

    return rule


def _copied(kind: type[GrownList], otherwise: Any, makes_lists: bool) -> Any:
    """list(outs), tuple(outs)"""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) in _GROWN:
            return kind(tracer, args[0].known())
        is_given = len(args) == 1 and not kwargs and makes_lists
        iterations = heads.rows_of(tracer, args[0]) if is_given else None
        if iterations is not None and not iterations.computes:
            return varying.make_list(kind, tracer, iterations)
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def _refusing(otherwise: Any) -> Any:
    """Return the rule of a method of list that would see the internals of a GrownList."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and type(args[0]) in _GROWN:
            args[0].refuse()
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def truth_of(value: Any) -> Any:
    """A list as what its truth depends on: a bool tensor, if only run time knows whether it has an item."""
    return value.truth() if type(value) in _GROWN and value.known() else value


def with_tensors(container: Any, key: Any) -> Any:
    """The key of a subscript, `x[keep]` or `x[:, keep]`, with tensors in the place of lists of numbers."""
    if type(key) is tuple:
        return tuple(with_tensors(container, part) for part in key)
    if type(key) not in _GROWN:
        return key
    if not is_tensor(container) or key.numbers is not int:
        key.refuse()
    return key.stacked()


_HOLDING = (isinstance, issubclass, id, callable, getattr, hasattr, setattr, list.append, list.extend, list.reverse,
            dict.get, dict.setdefault, dict.update, dict.__setitem__, list.__init__, object.__setattr__,
            object.__getattribute__, OrderedDict.__setitem__, OrderedDict.setdefault)  # fmt: skip
"""C functions that do not look at the items of a list."""
_AROUND = (dict.items, dict.values, dict.keys, dict.pop, dict.copy, dict.__contains__, dict.__iter__, dict.__getitem__,
           list.__getitem__, list.pop, list.copy, list.insert, list.__iter__, tuple.__iter__, tuple.__getitem__, len,
           iter, next, enumerate, zip, reversed, list, tuple, dict, OrderedDict.items, OrderedDict.values,
           OrderedDict.keys, OrderedDict.pop, OrderedDict.copy, OrderedDict.__iter__)  # fmt: skip
"""Those that do not look at the items of what their arguments hold."""
_IN_PYTHON = (FunctionType, MethodType)
_OWN_MODULES = (grown.__name__, parts.__name__, ragged.__name__, slices.__name__)
_OWN_FILES = (grown.__file__, parts.__file__, ragged.__file__, slices.__file__)
_DEPTH = 3


def check_call(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuses to pass such a list to a function that runs natively, which would see its internals."""
    given = (*args, *kwargs.values())
    held = _grown_in(given, _DEPTH + 1)
    if held is None or isinstance(fn, type) or any(fn is holding for holding in _HOLDING):
        return
    if any(fn is around for around in _AROUND) and not any(type(arg) in _GROWN for arg in given):
        return
    frame = tracer.vm.frame
    is_own = type(fn) in _IN_PYTHON and fn.__module__ in _OWN_MODULES
    if not is_own and (frame is None or frame.code.co_filename not in _OWN_FILES):  # nor called by one of its own
        held.refuse()


def is_item(tracer: Forking, value: Any) -> bool:
    """Whether a tensor may be an item of a list whose length varies, which is made anew whenever it is taken."""
    may_share = tracer.recorder.may_share
    return is_tensor(value) and may_share is not None and may_share.is_item(tracer.recorder.known_fake(value))


def check_item(tracer: Forking, value: Any, use: str) -> None:
    """Refuses a use which shows that such an item is not one object."""
    if is_item(tracer, value):
        why = f"an item of a list whose length varies is {use}"
        tracer.refuse("branch-unsupported", why=why)


def check_in_place(owner: Any, value: Any) -> None:
    """Refuses `outs += more` of a plain list: CPython changes it in place, and checks the other list's class first."""
    if type(owner) is list and type(value) in _GROWN:
        value.refuse()


def check_attribute(tracer: Forking, owner: Any, name: str) -> None:
    """Refuses a program to read an attribute of such a list that a list has not."""
    if type(owner) in _GROWN and not hasattr(list, name):
        frame = tracer.vm.frame
        if frame is None or frame.code.co_filename not in _OWN_FILES:
            owner.refuse()


def _grown_in(value: Any, depth: int) -> GrownList | None:
    kind = type(value)
    if kind in _GROWN:
        return value
    if kind not in (list, tuple, dict) or not depth:
        return None
    items = value.values() if kind is dict else value
    return next((found for item in items if (found := _grown_in(item, depth - 1)) is not None), None)


def attach(rules: dict[int, Any], makes_lists: bool) -> None:
    """Put the rules into a tracer's table, before those that are there. makes_lists: `list(range(n))` is captured."""
    for fn, make in _TENSORS.items():
        rules[id(fn)] = _rule(make, rules.get(id(fn)))
    for fn in (torch.tensor, torch.as_tensor):
        rules[id(fn)] = _as_tensor(rules.get(id(fn)))
    rules[id(builtins.sum)] = _sum(rules.get(id(builtins.sum)))
    rules[id(list)] = _copied(GrownList, rules.get(id(list)), makes_lists)
    rules[id(tuple)] = _copied(GrownTuple, rules.get(id(tuple)), makes_lists)
    rules[id(type)] = _type(rules[id(type)])
    rules[id(builtins.bool)] = _bool(rules[id(builtins.bool)])
    for name in ("__len__", "copy", "count", "index"):
        fn = getattr(list, name)
        rules[id(fn)] = _refusing(rules.get(id(fn)))
