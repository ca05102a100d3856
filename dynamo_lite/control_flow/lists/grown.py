"""A list whose length is known at run time only.

The variables that hold the list get a `GrownList` in its place: the items from before, those that iterations and sides
added (`Added`), and those that are added later. Within an iteration, one opaque item represents the items that earlier
iterations added; it must not be read.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from dynamo_lite.control_flow.emission import is_unknown, note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.parts import NUMBERS, UNLIKE, Added, Earlier, Rows, check_alike
from dynamo_lite.control_flow.lists.slices import is_known, iterations_of, sliced, sliced_added, span_of
from dynamo_lite.control_flow.loops.counted import Iterations, RowIterations
from dynamo_lite.control_flow.states import BeginsAgain
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_USED = "supports only append, torch.stack, torch.cat, sum, len and loops"
_WHY = f"a list whose length depends on the data {_USED}"
_FILLED = f"a list that a loop has filled {_USED}"
"""Its length is a number, but its items are rows of a tensor."""


class WantsLast(BeginsAgain):
    """An iteration uses the last item that `owner` had before: the loop has to carry it."""

    def __init__(self, owner: GrownList) -> None:
        super().__init__()
        self.owner = owner


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
        """Return the parts; an error within an iteration."""
        parts = self.parts()
        if any(type(part) is Earlier for part in parts):
            self.refuse()
        return parts

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        why = _FILLED if type(self.certain_length()) is int else _WHY
        self.tracer.refuse("branch-unsupported", why=why)

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
        return any(not _is_many(part) or self._always_adds(part) for part in self.known())

    def _always_adds(self, part: Added | Iterations) -> bool:
        """Return whether there always was an iteration that added an item."""
        count = part.count if isinstance(part, Iterations) else part.tensors[0].shape[0]
        env, answer = self.tracer.recorder.env, count >= 1
        if type(answer) is not bool:
            answer = env is not None and env.decide_node(answer.node) is True
        return answer and (isinstance(part, Iterations) or None in part.flags)

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
        if isinstance(part, Iterations):
            return Rows(part.rows(), None)
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
        """Return the number of items. (Within an iteration, only if each adds the same number.)"""
        length = self.certain_length()
        if length is None and not self._are_rows():
            marks = self._marks()
            length = self.tracer.predicates.item(marks.sum())
            self.tracer.recorder.guarded(torch._check, length >= 0)
            self.tracer.recorder.guarded(torch._check, length <= marks.shape[0])
        return self._choice(self.known())[1].shape[0] if length is None else length

    def _are_rows(self) -> bool:
        """Whether the items may be rows of one tensor; else sizes that only run time knows differ among them."""
        parts = [part for part in self.known() if not isinstance(part, Iterations)]
        shapes = [t.shape[1:] for part in parts if type(part) is Added for t in part.tensors]
        shapes += [part.shape for part in parts if is_tensor(part)]
        return len(self.known()) < 2 or not any(is_unknown(size) for shape in shapes for size in shape)

    def _marks(self) -> torch.Tensor:
        """Whether each item is there."""
        found = [part.rows(self.tracer).flags if type(part) is Added else None for part in self.known()]
        counts = [GrownList(self.tracer, [part]).certain_length() for part in self.known()]
        marks = [torch.ones((n,), dtype=torch.bool) if f is None else f for f, n in zip(found, counts)]
        return torch.cat(marks)

    def certain_length(self) -> Any:
        """How many items there are; None if that depends on which of them are there."""
        total: Any = 0
        for part in self.parts():
            length = 1
            if type(part) is Added or type(part) is Earlier:
                length = part.certain_length
            elif isinstance(part, Iterations):
                length = part.count
            if length is None:
                return None
            total = total + length
        return total

    def truth(self) -> Any:
        """Return whether any item is present: a bool, or a value known at run time only."""
        if self.has_item():
            return True
        return self.how_many() > 0 if self.is_certain() else self._marks().any()

    def _choice(self, parts: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """(all rows, the numbers of those that are there); the same numbers for each question."""
        known = self._chosen
        recorder = self.tracer.recorder
        is_same = known is not None and len(known[0]) == len(parts) and all(a is b for a, b in zip(known[0], parts))
        if known is not None and is_same and all(map(recorder.levels.sees, map(recorder.known_fake, known[1:]))):
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

    def iterations(self) -> Iterations | None:
        """Return the iterations of a loop over the list; None if no operator can represent the loop."""
        parts = self.known()
        if len(parts) == 1 and isinstance(parts[0], Iterations):
            return parts[0]
        added = parts[0] if len(parts) == 1 and type(parts[0]) is Added else None
        if added is not None and (iterations := iterations_of(self.tracer, added)) is not None:
            return iterations
        if self.is_certain() and len(parts) > 1:
            return None
        if not self._are_rows():
            self.tracer.refuse("branch-unsupported", why=UNLIKE.format("shape"))
        rows = RowIterations(self.tracer, self.stacked(), 0)
        return rows if self.numbers is None else NumberIterations(rows)

    def __len__(self) -> Any:
        return list.__len__(self)

    def __bool__(self) -> bool:
        if not self.known():
            return False
        return True if self.has_item() else self.refuse()

    def recent(self, key: int) -> Any:
        """Return the item `key`, negative, if it is an item by itself, or, within an iteration, the last of the earlier
        ones. Else MISSING."""
        for part in reversed(self.parts()):
            key += 1
            if type(part) is Earlier:
                if not key and part.last is MISSING:
                    raise WantsLast(self)
                return part.last if not key else MISSING
            if _is_many(part) or not key:
                return part if not _is_many(part) else MISSING
        return MISSING

    def early(self, key: int) -> Any:
        """The item `key`, not negative, if it is an item by itself from before the current loops. Else MISSING."""
        parts = self.parts()
        while parts and type(parts[0]) is Earlier:
            parts = parts[0].first
        passed = parts[: key + 1]
        is_one = len(passed) > key and not any(_is_many(part) or type(part) is Earlier for part in passed)
        return passed[key] if is_one else MISSING

    def __getitem__(self, key: Any) -> Any:
        found = MISSING
        if type(key) is int:
            found = self.recent(key) if key < 0 else self.early(key)
        if found is not MISSING:
            return found
        if type(key) is slice:
            return type(self)(self.tracer, self._slice(key))
        parts = self.known()
        if type(key) is torch.SymInt:
            return self._item_at(key)
        if type(key) is not int:
            self.refuse()
        order, steps = (parts, key) if key >= 0 else (parts[::-1], -key - 1)
        passed = order[: steps + 1]
        if len(parts) == 1 and isinstance(parts[0], Iterations):
            self.check_filled(parts[0].count, steps + 1, IndexError)
            return parts[0].item(key if key >= 0 else parts[0].count + key)
        if any(map(_is_many, passed[:-1])) or len(passed) <= steps or isinstance(passed[-1], Iterations):
            return self._chosen_item(key, steps)
        end, part = (0 if key >= 0 else -1), passed[-1]
        if type(part) is not Added:
            return part
        if not part.is_certain or not self._always_adds(part):
            return self._chosen_item(key, steps)
        lengths = part.lengths[end] if part.lengths else None
        if lengths is not None:
            return lengths.last(self.tracer, part.tensors[end]) if end else self.refuse()
        item = part.tensors[end][end]
        return item if part.numbers is None else self.tracer.predicates.item(item)

    def _item_at(self, key: Any) -> Any:
        """The item `key`, a size or the number of an iteration, which is provably there."""
        iterations = self.iterations() if len(self.known()) == 1 else None
        if iterations is None:
            self.refuse()
        if not is_known(self.tracer, key >= 0):
            key = key + iterations.count if is_known(self.tracer, key < 0) else self.refuse()
        if not (is_known(self.tracer, key >= 0) and is_known(self.tracer, key < iterations.count)):
            self.refuse()
        return iterations.item(key)

    def _slice(self, key: slice) -> list[Any]:
        """The parts of a slice of the list."""
        if (key.start, key.stop) == (None, None) and type(key.step) is int and key.step < 0:
            turned = GrownList(self.tracer, self._backwards())
            return turned.known() if key.step == -1 else turned._slice(slice(None, None, -key.step))
        parts = self.known()
        if not any(map(_is_many, parts)):
            return parts[key]
        start, stop = key.start, key.stop
        if key.step in (None, 1):  # what stands at the ends by itself
            while type(start) is int and start > 0 and len(parts) > 1 and not _is_many(parts[0]):
                parts, start = parts[1:], start - 1
                stop = stop - 1 if type(stop) is int and stop > 0 else stop
            while type(stop) is int and stop < 0 and len(parts) > 1 and not _is_many(parts[-1]):
                parts, stop = parts[:-1], stop + 1 or None
            if stop is None and (start is None or (type(start) is int and not start)):
                return parts
        if len(parts) > 1:
            rows, flags = GrownList(self.tracer, parts).rows()
            parts = [Added([rows], numbers=self.numbers)] if flags is None else self.refuse()
        made = self._sliced(parts[0], slice(start, stop, key.step))
        return [made] if made is not None else self.refuse()

    def _sliced(self, part: Any, key: slice) -> Any:
        count = part.count if isinstance(part, Iterations) else part.certain_length
        span = None if count is None else span_of(self.tracer, key, count)
        if span is None:
            return None
        slice_of = sliced if isinstance(part, Iterations) else sliced_added
        return slice_of(self.tracer, part, span)

    def check_dtypes(self) -> None:
        """All items, those as well that may not be there, are rows of one tensor: it has one dtype."""
        kept = (
            part.tensors if type(part) is Added
            else (part.tensors() or [part.rows()]) if isinstance(part, Iterations) else [part]
            for part in self.known()
        )  # fmt: skip
        if len({tensor.dtype for tensors in kept for tensor in tensors if is_tensor(tensor)}) > 1:
            self.tracer.refuse("branch-unsupported", why=UNLIKE.format("dtype"))

    def _chosen_item(self, key: int, steps: int) -> Any:
        if not self._are_rows():
            self.tracer.refuse("branch-unsupported", why=UNLIKE.format("shape"))
        whole = self.stacked()
        self.check_filled(whole.shape[0], steps + 1, IndexError)
        item = whole.select(0, key)
        return item if self.numbers is None else self.tracer.predicates.item(item)

    def __add__(self, other: Any) -> Any:
        return GrownList(self.tracer, [*self.parts(), *_items(other)]) if _is_list(other) else self.refuse()

    def __radd__(self, other: Any) -> Any:
        return GrownList(self.tracer, [*_items(other), *self.parts()]) if _is_list(other) else self.refuse()

    def __iadd__(self, other: Any) -> Any:
        if not _is_list(other):
            self.refuse()
        self.tracer.journal.touch(self, "items")
        list.extend(self, _items(other))
        return self

    __iter__ = __contains__ = __mul__ = __rmul__ = __imul__ = __setitem__ = __delitem__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = __repr__ = __reduce_ex__ = refuse
    pop = insert = sort = remove = index = count = copy = clear = refuse
    __hash__ = None
    __class__ = property(lambda self: list)

    def reverse(self) -> None:
        self.tracer.journal.touch(self, "items")
        list.__setitem__(self, slice(None), self._backwards())

    def _backwards(self) -> list[Any]:
        return [self._backward(part) for part in reversed(self.known())]

    def _backward(self, part: Any) -> Any:
        if isinstance(part, Iterations):
            return part.backwards() or self.refuse()
        return part.backwards(self.tracer) if type(part) is Added else part


class GrownTuple(GrownList):
    """`tuple(outs)`"""

    append = extend = reverse = __add__ = __radd__ = __iadd__ = GrownList.refuse
    __class__ = property(lambda self: tuple)


class NumberIterations(Iterations):
    """The rows of a tensor of numbers, as numbers."""

    def __init__(self, of: RowIterations) -> None:
        super().__init__(of.tracer, of.count)
        self.of = of

    def item(self, at: Any) -> Any:
        return self.tracer.predicates.item(self.of.item(at))


def where(flags: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of the true ones, on the device of a tensor that they pick from."""
    at = flags.nonzero().squeeze(1)
    return at if at.device == tensor.device else at.to(tensor.device)


def _is_many(part: Any) -> bool:
    return type(part) is Added or isinstance(part, Iterations)


def _kind(part: Any) -> Any:
    """Return the kind of an item: int, float, None for a tensor; another object for anything else."""
    if type(part) is Added:
        return part.numbers
    if isinstance(part, Iterations):
        return part.kind
    if is_tensor(part):
        return None
    return NUMBERS[type(part)][0] if type(part) in NUMBERS else "other"


def _is_list(value: Any) -> bool:
    return type(value) in (list, GrownList)


def _items(value: Any) -> list[Any]:
    return value.parts() if type(value) is GrownList else list(value)
