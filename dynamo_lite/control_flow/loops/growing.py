"""Lists to which each round of a loop adds tensors: `outs.append(y)`, then `torch.stack(outs)`.

How many items such a list has is a symbol. So the variables that hold it get a `GrownList` in its place: what was in it
before, what all rounds added (`Added`: one tensor, with the rounds as its first dimension), and what is added later. In
a round the list has an item for what earlier rounds added, which nothing may look at.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NamedTuple, NoReturn

import torch

from dynamo_lite.control_flow.emission import note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import Rounds, RowRounds
from dynamo_lite.control_flow.reachable import is_held
from dynamo_lite.control_flow.states import Side, cannot_merge
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_WHY = (
    "a list to which each round of a loop adds is used otherwise than by append, torch.stack, torch.cat, len(), a loop"
)


class Earlier:
    """What earlier rounds added, in a round."""


class Added:
    """What all rounds added: for each `append` of a round a tensor with the rounds as its first dimension."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self.tensors = tensors

    @property
    def length(self) -> Any:
        """How many items these are."""
        return self.tensors[0].shape[0] * len(self.tensors)

    def stacked(self, tracer: Forking) -> torch.Tensor:
        """The items in order, along a new first dimension."""
        if len(self.tensors) == 1:
            return self.tensors[0]
        whole = torch.stack(self.tensors, 1).flatten(0, 1)
        note_shared(tracer, whole, self.tensors)
        return whole

    def backwards(self, tracer: Forking) -> Added:
        """The items in the other order. They are those of the list in eager, and copies here."""
        flipped = [tensor.flip(0) for tensor in reversed(self.tensors)]
        for tensor in flipped:
            note_shared(tracer, tensor, self.tensors)
        return Added(flipped)


class GrownList(list[Any]):
    """A list with items of the types Earlier and Added. `tracer` refuses what no symbolic length answers."""

    def __init__(self, tracer: Forking, items: list[Any]) -> None:
        super().__init__(items)
        self.tracer = tracer

    def parts(self) -> list[Any]:
        """The items as they are kept."""
        return list.__getitem__(self, slice(None))

    def known(self) -> list[Any]:
        """The same; refused in a round."""
        parts = self.parts()
        if any(type(part) is Earlier for part in parts):
            self.refuse()
        return parts

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.tracer.refuse("branch-unsupported", why=_WHY)

    def rounds(self) -> Rounds | None:
        """What a loop over it goes over, if it has nothing but what one loop added."""
        parts = self.known()
        if len(parts) == 1:
            return RowRounds(self.tracer, parts[0].stacked(self.tracer), 0)
        return None

    def __len__(self) -> Any:
        return list.__len__(self)

    def __bool__(self) -> bool:
        return bool(self.known())

    def __getitem__(self, key: Any) -> Any:
        parts = self.known()
        if type(key) is slice and (key.start, key.stop, key.step) == (None, None, -1):
            return GrownList(self.tracer, self._backwards())
        if type(key) is not int:
            self.refuse()
        order, steps = (parts, key) if key >= 0 else (parts[::-1], -key - 1)
        if steps >= len(order) or any(type(part) is Added for part in order[:steps]):
            self.refuse()
        end, part = (0 if key >= 0 else -1), order[steps]
        return part.tensors[end][end] if type(part) is Added else part

    __iter__ = __contains__ = __add__ = __radd__ = __mul__ = __rmul__ = __imul__ = __setitem__ = __delitem__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = __repr__ = __reduce_ex__ = refuse
    pop = insert = sort = remove = index = count = copy = clear = refuse
    __hash__ = None
    __class__ = property(lambda self: list)

    def reverse(self) -> None:
        self.tracer.journal.touch(self, "items")
        list.__setitem__(self, slice(None), self._backwards())

    def _backwards(self) -> list[Any]:
        parts = reversed(self.known())
        return [part.backwards(self.tracer) if type(part) is Added else part for part in parts]


class GrownTuple(GrownList):
    """`tuple(outs)`"""

    append = extend = reverse = GrownList.refuse
    __class__ = property(lambda self: tuple)


# -- in a loop ---------------------------------------------------------------------------------------------------------


class Growth(NamedTuple):
    """A list that rounds add to. stand_in: the list in a round, None in the first; added: what the round added."""

    owner: list[Any]
    stand_in: GrownList | None
    added: list[torch.Tensor]


def growths_of(tracer: Forking, frame: Any, side: Side) -> list[Growth]:
    """The lists that the first round adds tensors to; they are taken out of what the side changed."""
    found = []
    for key, (snapshot, contents) in list(side.heap.items()):
        before = snapshot.contents
        if snapshot.part != "items" or type(before) is not list or type(snapshot.owner) not in (list, GrownList):
            continue
        added = contents[len(before) :]
        if not added or len(contents) < len(before) or any(a is not b for a, b in zip(before, contents)):
            continue
        if not all(map(is_tensor, added)):
            why = "each round of a loop adds to a list what is no tensor"
            cannot_merge("branch-unsupported", why=why)
        if is_held(tracer, frame, snapshot.owner) or tracer.writes.is_old(snapshot.owner):
            why = "a list to which each round of a loop adds is held by more than variables of the loop's function"
            cannot_merge("branch-unsupported", why=why)
        found.append(Growth(snapshot.owner, None, added))
        del side.heap[key]
    return found


def entered(tracer: Forking, frame: Any, growths: list[Growth]) -> list[Growth]:
    """A round begins: the variables hold stand-ins for the lists."""
    made = [Growth(growth.owner, GrownList(tracer, [Earlier()]), []) for growth in growths]
    replace(frame, {id(growth.owner): growth.stand_in for growth in made})
    return made


def left(growths: list[Growth]) -> list[Growth]:
    """A round is over: what it added."""
    found = []
    for growth in growths:
        assert growth.stand_in is not None
        added = growth.stand_in.parts()[1:]
        if not all(map(is_tensor, added)):
            cannot_merge("branch-unsupported", why="a round of a loop adds to a list what is no tensor")
        found.append(growth._replace(added=added))
    return found


def replace(frame: Any, by: dict[int, Any]) -> None:
    """Put other objects into the variables, and on the stack, by the ids of what is there."""
    for values in (frame.locals, frame.stack):
        values[:] = [by.get(id(value), value) for value in values]


def grown(tracer: Forking, frame: Any, growths: list[Growth], tensors: list[torch.Tensor]) -> None:
    """The loop is over: give the lists what all rounds added. tensors: one for each tensor that a round added."""
    by: dict[int, Any] = {}
    for growth in growths:
        count = len(growth.added)
        added, tensors = Added(tensors[:count]), tensors[count:]
        tracer.journal.touch(growth.owner, "items")
        list.append(growth.owner, added)
        if type(growth.owner) is not GrownList:
            by[id(growth.owner)] = GrownList(tracer, growth.owner)
    replace(frame, by)


# -- rules: what is made of such a list --------------------------------------------------------------------------------


def _rows(items: GrownList) -> list[torch.Tensor]:
    """Tensors with the items along a new first dimension."""
    parts = items.known()
    return [part.stacked(items.tracer) if type(part) is Added else part.unsqueeze(0) for part in parts]


def stack(items: GrownList, dim: Any = 0) -> torch.Tensor:
    """torch.stack(items, dim)"""
    rows = _rows(items)
    whole = torch.cat(rows) if len(rows) > 1 else rows[0]
    return whole.movedim(0, dim).clone(memory_format=torch.contiguous_format)


def cat(items: GrownList, dim: Any = 0) -> torch.Tensor:
    """torch.cat(items, dim)"""
    wide = []
    for part in items.known():
        if type(part) is Added:
            rows = part.stacked(items.tracer)
            at = dim % (rows.dim() - 1)
            part = rows.movedim(0, at).flatten(at, at + 1)
        wide.append(part)
    return torch.cat(wide, dim)


def length(items: GrownList) -> Any:
    """len(items)"""
    return sum(part.length if type(part) is Added else 1 for part in items.known())


_TENSORS: dict[Any, Callable[..., Any]] = {
    torch.stack: stack, torch.cat: cat, torch.concat: cat, torch.concatenate: cat, len: length
}  # fmt: skip


_GROWN: dict[type, type] = {GrownList: list, GrownTuple: tuple}
"""The types, and what a program takes them for."""


def _rule(make: Callable[..., Any], otherwise: Any) -> Any:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first: Any = args[0] if args else kwargs.get("tensors")
        if type(first) not in _GROWN:
            return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)
        dim = args[1] if len(args) == 2 else kwargs.get("dim", 0)
        if len(args) > 2 or not kwargs.keys() <= {"dim", "tensors"} or type(dim) is not int:
            first.refuse()
        return make(first) if fn is len else make(first, dim)

    return rule


def _type(otherwise: Any) -> Any:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = _GROWN.get(type(args[0])) if len(args) == 1 else None
        return kind if kind is not None else otherwise(tracer, fn, args, kwargs)

    return rule


def _made(kind: type[GrownList], otherwise: Any) -> Any:
    """list(outs), tuple(outs)"""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) in _GROWN:
            return kind(tracer, args[0].known())
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def _refusing(otherwise: Any) -> Any:
    """The rule of a method of list that would see what a GrownList is made of."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and type(args[0]) in _GROWN:
            args[0].refuse()
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


_HOLDING = (isinstance, issubclass, id, callable, getattr, hasattr, setattr, list.append, list.extend, list.reverse,
            dict.get, dict.setdefault, dict.update, dict.__setitem__, list.__init__, object.__setattr__,
            object.__getattribute__)  # fmt: skip
"""C functions that do not look at the items of a list."""
_IN_PYTHON = (FunctionType, MethodType)
_DEPTH = 3


def check_call(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuses to give such a list to a function that runs natively, which would see what it is made of."""
    held = _grown_in((*args, *kwargs.values()), _DEPTH + 1)
    if held is None or isinstance(fn, type) or any(fn is holding for holding in _HOLDING):
        return
    frame = tracer.vm.frame
    is_own = type(fn) in _IN_PYTHON and fn.__module__ == __name__
    if not is_own and (frame is None or frame.code.co_filename != __file__):  # nor called by one of the list's own
        held.refuse()


def _grown_in(value: Any, depth: int) -> GrownList | None:
    kind = type(value)
    if kind in _GROWN:
        return value
    if kind not in (list, tuple, dict) or not depth:
        return None
    items = value.values() if kind is dict else value
    return next((found for item in items if (found := _grown_in(item, depth - 1)) is not None), None)


def attach(rules: dict[int, Any]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    for fn, make in _TENSORS.items():
        rules[id(fn)] = _rule(make, rules.get(id(fn)))
    rules[id(list)] = _made(GrownList, rules.get(id(list)))
    rules[id(tuple)] = _made(GrownTuple, rules.get(id(tuple)))
    rules[id(type)] = _type(rules[id(type)])
    for name in ("__len__", "copy", "count", "index"):
        fn = getattr(list, name)
        rules[id(fn)] = _refusing(rules.get(id(fn)))
