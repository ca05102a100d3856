"""A list whose length only run time knows.

The variables that hold the list get a `GrownList` in its place: what was in it before, what rounds and sides added
(`Added`), and what is added later. In a round the list has an item for what earlier rounds added, which nothing may
look at.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import torch

from dynamo_lite.control_flow.emission import note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import Rounds, RowRounds
from dynamo_lite.control_flow.states import BeginsAgain
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_WHY = (
    "a list whose length depends on the data is used otherwise than by append, torch.stack, torch.cat, sum, len, a loop"
)
_UNLIKE = "a list whose length depends on the data is used, and its items are not all of one {}"
NUMBERS: dict[type, tuple[type, torch.dtype]] = {
    int: (int, torch.int64), torch.SymInt: (int, torch.int64),
    float: (float, torch.float64), torch.SymFloat: (float, torch.float64),
}  # fmt: skip
"""Types of numbers in such a list: (the program's type, that of a tensor that holds them)."""


class Rows(NamedTuple):
    """Items of a list along a first dimension, some of which are not there where `flags` (bools) are false."""

    tensor: torch.Tensor
    flags: torch.Tensor | None


class Earlier:
    """What the list has held before the current round.

    certain_length: how many items; None if that is not known. last: the last of them; MISSING if the loop does not
    carry it. first: those from before the loop.
    """

    def __init__(self, certain_length: Any, last: Any, first: list[Any]) -> None:
        self.certain_length, self.last, self.first = certain_length, last, first


class WantsLast(BeginsAgain):
    """A round uses the last item that `owner` had before: the loop has to carry it."""

    def __init__(self, owner: GrownList) -> None:
        super().__init__()
        self.owner = owner


class Added:
    """What rounds added, or one side of a branch.

    tensors: for each `append` of a round a tensor, its first dimension the rounds (of a side: 1). flags: for each of
    them None, or a bool tensor that says which items are there; then both have the items of one round as their second
    dimension. numbers: int or float if the items are such numbers, else None. if_goes: whether it is
    one item, which is there if the current round is not the one that leaves its loop.
    """

    def __init__(
        self,
        tensors: list[torch.Tensor],
        flags: list[torch.Tensor | None] | None = None,
        numbers: type | None = None,
        if_goes: bool = False,
    ) -> None:
        self.tensors = tensors
        self.flags = flags if flags is not None else [None] * len(tensors)
        self.numbers, self.if_goes = numbers, if_goes

    @property
    def is_certain(self) -> bool:
        """Whether all items are there."""
        return all(flags is None for flags in self.flags)

    @property
    def certain_length(self) -> Any:
        """How many items these are; None if some may not be there."""
        return self.tensors[0].shape[0] * len(self.tensors) if self.is_certain else None

    def rows(self, tracer: Forking) -> Rows:
        """The items in order."""
        if len(self.tensors) == 1 and self.is_certain:
            return Rows(self.tensors[0], None)
        wide = [t if f is not None else t.unsqueeze(1) for t, f in zip(self.tensors, self.flags)]
        check_alike(tracer, [(t.dtype, t.shape[2:]) for t in wide])
        whole = (torch.cat(wide, 1) if len(wide) > 1 else wide[0]).flatten(0, 1)
        note_shared(tracer, whole, self.tensors)
        if self.is_certain:
            return Rows(whole, None)
        count = self.tensors[0].shape[0]
        marks = [f if f is not None else torch.ones((count, 1), dtype=torch.bool) for f in self.flags]
        return Rows(whole, (torch.cat(marks, 1) if len(marks) > 1 else marks[0]).flatten(0, 1))

    def backwards(self, tracer: Forking) -> Added:
        """The items in the other order. They are those of the list in eager, and copies here."""
        if self.is_certain:
            flipped = [tensor.flip(0) for tensor in reversed(self.tensors)]
            for tensor in flipped:
                note_shared(tracer, tensor, self.tensors)
            return Added(flipped, numbers=self.numbers)
        rows, flags = self.rows(tracer)
        assert flags is not None
        turned = rows.flip(0).unsqueeze(0)
        note_shared(tracer, turned, self.tensors)
        return Added([turned], [flags.flip(0).unsqueeze(0)], self.numbers)


def check_alike(tracer: Forking, items: list[tuple[torch.dtype, torch.Size]]) -> None:
    """Items are to be rows of one tensor: (dtype, shape) of each."""
    shapes = [[n if type(n) is int else None for n in shape] for _, shape in items]
    if any(len(one) != len(shapes[0]) or not all(map(_may_equal, one, shapes[0])) for one in shapes):
        tracer.refuse("branch-unsupported", why=_UNLIKE.format("shape"))
    if len({dtype for dtype, _ in items}) > 1:
        tracer.refuse("branch-unsupported", why=_UNLIKE.format("dtype"))


class GrownList(list[Any]):
    """A list with items of the types Earlier and Added. `tracer` refuses what no symbolic length answers."""

    def __init__(self, tracer: Forking, items: list[Any]) -> None:
        super().__init__(items)
        self.tracer = tracer
        self._chosen: tuple[list[Any], torch.Tensor, torch.Tensor] | None = None  # for which parts: rows, numbers

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

    @property
    def numbers(self) -> type | None:
        """int or float if the items are such numbers, None if they are tensors; refused if they are neither."""
        kinds = {_kind(part) for part in self.known()}
        if len(kinds) != 1 or not kinds <= {int, float, None}:
            self.refuse()
        return kinds.pop()

    def is_certain(self) -> bool:
        """Whether all its items are there."""
        return all(type(part) is not Added or part.is_certain for part in self.known())

    def has_item(self) -> bool:
        """Whether one of its items is always there."""
        return any(type(part) is not Added or self._always_adds(part) for part in self.known())

    def _always_adds(self, part: Added) -> bool:
        """Whether there always was a round that added an item."""
        env, answer = self.tracer.recorder.env, part.tensors[0].shape[0] >= 1
        if type(answer) is not bool:
            answer = env is not None and env.decide_node(answer.node) is True
        return answer and None in part.flags

    # -- as tensors

    def rows(self) -> Rows:
        """All items, also those that may not be there."""
        numbers = self.numbers
        found = [self._rows_of(part, numbers) for part in self.known()]
        if len(found) == 1:
            return found[0]
        self.check_dtypes()
        check_alike(self.tracer, [(rows.dtype, rows.shape[1:]) for rows, _ in found])
        whole = torch.cat([rows for rows, _ in found])
        tensors = [part for part in self.parts() if is_tensor(part)]
        note_shared(self.tracer, whole, [*tensors, *(rows for rows, _ in found)])
        if self.is_certain():
            return Rows(whole, None)
        marks = [f if f is not None else torch.ones(rows.shape[:1], dtype=torch.bool) for rows, f in found]
        return Rows(whole, torch.cat(marks))

    def _rows_of(self, part: Any, numbers: type | None) -> Rows:
        if type(part) is Added:
            return part.rows(self.tracer)
        if numbers is not None:
            return Rows(torch.full((1,), part, dtype=NUMBERS[numbers][1]), None)
        return Rows(part.unsqueeze(0), None)

    def stacked(self) -> torch.Tensor:
        """The items that are there, along a new first dimension."""
        parts = self.known()
        if self.is_certain():
            return self.rows().tensor
        rows, at = self._choice(parts)
        chosen = rows.index_select(0, at)
        note_shared(self.tracer, chosen, [rows])
        return chosen

    def how_many(self) -> Any:
        """How many items are there. (In a round, only where each adds the same number.)"""
        length = self.certain_length()
        return self._choice(self.known())[1].shape[0] if length is None else length

    def certain_length(self) -> Any:
        """How many items there are; None if that depends on which of them are there."""
        total: Any = 0
        for part in self.parts():
            length = 1
            if type(part) is Added or type(part) is Earlier:
                length = part.certain_length
            if length is None:
                return None
            total = total + length
        return total

    def truth(self) -> Any:
        """Whether any item is there: a bool, or what is known at run time only."""
        if self.has_item():
            return True
        flags = None if self.is_certain() else self.rows().flags
        return self.how_many() > 0 if flags is None else flags.any()

    def _choice(self, parts: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """(all rows, the numbers of those that are there); the same numbers for each question."""
        known = self._chosen
        recorder = self.tracer.recorder
        is_same = known is not None and len(known[0]) == len(parts) and all(a is b for a, b in zip(known[0], parts))
        if known is not None and is_same and all(map(recorder.levels.sees, map(recorder.known_stand_in, known[1:]))):
            return known[1:]
        rows, flags = self.rows()
        assert flags is not None
        at = where(flags, rows)
        recorder.guarded(torch._check, at.shape[0] <= flags.shape[0])
        self._chosen = parts, rows, at
        return rows, at

    def check_filled(self, count: Any, least: int = 1, kind: type[Exception] = ValueError) -> None:
        """The program asserts that there are so many items, where eager raises an error otherwise: `kind`, or a
        RuntimeError (of an empty list torch.stack raises this, and torch.cat that)."""
        if may_be_caught(self.tracer.vm.frame, frozenset({kind, RuntimeError})):
            self.tracer.refuse("branch-unsupported", why="the program may catch what an empty list raises")
        self.tracer.recorder.guarded(torch._check, count >= least)

    # -- as a list

    def rounds(self) -> Rounds | None:
        """What a loop over it goes over; None if that is no operator's."""
        parts = self.known()
        if self.is_certain() and len(parts) > 1:
            return None
        rows = RowRounds(self.tracer, self.stacked(), 0)
        return rows if self.numbers is None else NumberRounds(rows)

    def __len__(self) -> Any:
        return list.__len__(self)

    def __bool__(self) -> bool:
        if not self.known():
            return False
        return True if self.has_item() else self.refuse()

    def recent(self, key: int) -> Any:
        """The item `key`, negative, if it is an item by itself; in a round also the last of those before. Else
        MISSING."""
        for part in reversed(self.parts()):
            key += 1
            if type(part) is Earlier:
                if not key and part.last is MISSING:
                    raise WantsLast(self)
                return part.last if not key else MISSING
            if type(part) is Added or not key:
                return part if type(part) is not Added else MISSING
        return MISSING

    def early(self, key: int) -> Any:
        """The item `key`, not negative, if it is an item by itself from before the current loops. Else MISSING."""
        parts = self.parts()
        while parts and type(parts[0]) is Earlier:
            parts = parts[0].first
        passed = parts[: key + 1]
        is_one = len(passed) > key and not any(type(part) is Added or type(part) is Earlier for part in passed)
        return passed[key] if is_one else MISSING

    def __getitem__(self, key: Any) -> Any:
        found = MISSING
        if type(key) is int:
            found = self.recent(key) if key < 0 else self.early(key)
        if found is not MISSING:
            return found
        parts = self.known()
        if type(key) is slice and (key.start, key.stop, key.step) == (None, None, -1):
            return GrownList(self.tracer, self._backwards())
        if type(key) is not int:
            self.refuse()
        order, steps = (parts, key) if key >= 0 else (parts[::-1], -key - 1)
        passed = order[: steps + 1]
        if any(type(part) is Added for part in passed[:-1]) or len(passed) <= steps:
            return self._chosen_item(key, steps)
        end, part = (0 if key >= 0 else -1), passed[-1]
        if type(part) is not Added:
            return part
        if not part.is_certain or not self._always_adds(part):
            return self._chosen_item(key, steps)
        item = part.tensors[end][end]
        return item if part.numbers is None else self.tracer.predicates.item(item)

    def check_dtypes(self) -> None:
        """All items, those as well that may not be there, are rows of one tensor: it has one dtype."""
        kept = (part.tensors if type(part) is Added else [part] for part in self.known())
        if len({tensor.dtype for tensors in kept for tensor in tensors if is_tensor(tensor)}) > 1:
            self.tracer.refuse("branch-unsupported", why=_UNLIKE.format("dtype"))

    def _chosen_item(self, key: int, steps: int) -> Any:
        whole = self.stacked()
        self.check_filled(whole.shape[0], steps + 1, IndexError)
        item = whole.select(0, key)
        return item if self.numbers is None else self.tracer.predicates.item(item)

    def __add__(self, other: Any) -> Any:
        return GrownList(self.tracer, [*self.parts(), *_items(other)]) if _is_list(other) else self.refuse()

    def __radd__(self, other: Any) -> Any:
        return GrownList(self.tracer, [*_items(other), *self.parts()]) if _is_list(other) else self.refuse()

    __iter__ = __contains__ = __mul__ = __rmul__ = __imul__ = __setitem__ = __delitem__ = refuse
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

    append = extend = reverse = __add__ = __radd__ = GrownList.refuse
    __class__ = property(lambda self: tuple)


class NumberRounds(Rounds):
    """The rows of a tensor of numbers, as numbers."""

    def __init__(self, of: RowRounds) -> None:
        super().__init__(of.tracer, of.count)
        self.of = of

    def item(self, at: Any) -> Any:
        return self.tracer.predicates.item(self.of.item(at))


def where(flags: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of the true ones, on the device of a tensor that they pick from."""
    at = flags.nonzero().squeeze(1)
    return at if at.device == tensor.device else at.to(tensor.device)


def _kind(part: Any) -> Any:
    """What an item is: int, float, None for a tensor; another object for anything else."""
    if type(part) is Added:
        return part.numbers
    if is_tensor(part):
        return None
    return NUMBERS[type(part)][0] if type(part) in NUMBERS else "other"


def _may_equal(one: int | None, other: int | None) -> bool:
    """Whether two sizes may be one; None: known at run time only."""
    return one is None or other is None or one == other


def _is_list(value: Any) -> bool:
    return type(value) in (list, GrownList)


def _items(value: Any) -> list[Any]:
    return value.parts() if type(value) is GrownList else list(value)
