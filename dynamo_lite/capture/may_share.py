"""Tensors that are one tensor in eager, or two, depending on a branch on data: in the program they are two.

    y = a if x.sum() > 0 else a + 1     # the result of a torch.cond, a tensor of its own
    y.add_(1)                           # changes `a` in eager, if the left side was taken

The difference is visible only if one of them is changed in place, or `is` compares them. So the pairs are recorded.
After such a write the others get the new value, if they are the same tensor in eager:

    a.copy_(torch.where(x.sum() > 0, y, a))

If that cannot be expressed (a loop has no single predicate; the sides have different shapes), the write is rejected
while the program, or its caller, can still reach the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.remade_views import RemadeView
from dynamo_lite.capture.graph.subgraphs import Levels
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_fake import FakeTensor

_WAYS = 12
"""So many `where`s are made for one write; more is refused."""
_RESHAPED = "an item of a list whose length varies gets another shape in place"
_WRITTEN = "a tensor is changed in place that is another tensor too, or not, as the branch went"
_aten = torch.ops.aten


@dataclass(frozen=True)
class SharedPair:
    """`result` is `other` in eager if `predicate` (a tensor of no dimensions, or a SymBool) is `truth`; if it is None,
    the condition is unknown. `version`: the predicate's at the branch; None for an inference tensor, which has none.
    `remade`: how `other` is made again, if it is a view that a side has made."""

    result: torch.Tensor
    other: torch.Tensor
    predicate: Any = None
    truth: bool = True
    version: int | None = 0
    remade: RemadeView | None = None

    def from_(self, key: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(the tensor in the memory `key`, the one that it may be)"""
        is_first = storage_key(self.result) == key
        return (self.result, self.other) if is_first else (self.other, self.result)


_Way = tuple[tuple[SharedPair, int], ...]
"""Steps from memory that was changed to what may be the same: (pair, the memory that it is left from)."""


def version_of(tensor: torch.Tensor) -> int | None:
    with DisableTorchFunction():  # the program does not make this call
        return None if tensor.is_inference() else tensor._version


class SharedWrite(CaptureError):
    """A tensor is changed in place that another one may be in eager. could_tell: another run, whose branches return
    flags (`MayShare.has_flags`), may express it."""

    def __init__(self, could_tell: bool, what: str = _WRITTEN) -> None:
        super().__init__("branch-unsupported", what, "clone() it before", {"why": what})
        self.could_tell = could_tell


class MayShare:
    """Pairs of memory: a result of a branch or a loop, and its counterpart in eager.

    `reaches(keys)`: whether the program can still reach memory with these keys. `has_flags`: branches return which
    tensors their results are (differences/same_memory.py); `left_open`: whether there was one that did not.
    """

    has_flags = False
    left_open = False

    def __init__(self, recorder: OperatorRecording, levels: Levels, reaches: Callable[[set[int]], bool]) -> None:
        self._recorder = recorder
        self._levels = levels
        self._reaches = reaches
        self._pairs: dict[int, list[SharedPair]] = {}  # their tensors are kept: keys are those of living tensors
        self._is_off = False
        self._added: list[int] = []  # the keys, in the order in which pairs were added
        self._listed: dict[int, torch.Tensor] = {}  # what items of lists are taken from, each time a tensor of its own

    def mark(self) -> int:
        """A point in time, for `forget_since`."""
        return len(self._added)

    def forget_since(self, mark: int) -> None:
        """Removes pairs recorded since `mark`: that part of the recording is discarded and made again."""
        for key in reversed(self._added[mark:]):
            self._pairs[key].pop()
            if not self._pairs[key]:
                del self._pairs[key]
        del self._added[mark:]

    def note(self, result: torch.Tensor, others: Iterable[torch.Tensor]) -> None:
        """`result` has memory of its own, and would be one of these (fake tensors) in eager."""
        for other in others:
            self._add(SharedPair(result, other))

    def note_list(self, rows: torch.Tensor) -> None:
        """The items of a list are views of `rows` (a fake tensor), which are created anew at each access."""
        self._listed[storage_key(rows)] = rows

    def is_item(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor (a fake one) may be an item of such a list. In eager it is the same object each time."""
        return bool(self._listed) and tensor.layout is torch.strided and storage_key(tensor) in self._listed

    def note_branch(
        self,
        result: torch.Tensor,
        sides: Sequence[torch.Tensor],
        predicate: Any,
        remade: Sequence[RemadeView | None] = (None, None),
    ) -> None:
        """`result` would be the first of the `sides` where `predicate` is true, and the second where it is not. remade:
        how these are views that the sides have made."""
        for truth, other, view in zip((True, False), sides, remade):
            self.note_told(result, other, predicate, truth, view)

    def _add(self, pair: SharedPair) -> None:
        one, other = storage_key(pair.result), storage_key(pair.other)
        if one != other:
            for key in (one, other):
                self._pairs.setdefault(key, []).append(pair)
                self._added.append(key)

    def note_told(
        self,
        result: torch.Tensor,
        other: torch.Tensor,
        holds: Any,
        truth: bool = True,
        remade: RemadeView | None = None,
    ) -> None:
        """`result` is `other` in eager if `holds` (a tensor of no dimensions, or a SymBool) is `truth`."""
        version = version_of(holds) if isinstance(holds, torch.Tensor) else 0
        self._add(SharedPair(result, other, holds, truth, version, remade))

    def counterparts(self, tensor: torch.Tensor) -> list[SharedPair]:
        """The pairs whose result has the memory of `tensor`."""
        key = storage_key(tensor)
        return [pair for pair in self._pairs.get(key, ()) if storage_key(pair.result) == key]

    def has_pairs(self) -> bool:
        """Whether there is any tensor that may be another one in eager."""
        return bool(self._pairs)

    def others(self, tensor: torch.Tensor) -> set[int]:
        """The keys of what may be `tensor`, beside its own."""
        if not self._pairs:
            return set()
        key = storage_key(tensor)
        return {other for other, _ in self._closure({(key, False)})} - {key}

    def _steps(self, key: int, rises: bool) -> Iterator[tuple[SharedPair, int, bool]]:
        """(pair, the memory that it leads to, whether that is a result of this one).

        Two results are one tensor if both are the same other one; two others are not one for being, each at its time,
        the same result. So a path goes from results to their counterparts, and only then to further results of those.
        """
        for pair in self._pairs.get(key, ()):
            result, other = storage_key(pair.result), storage_key(pair.other)
            if other == key:
                yield pair, result, True
            elif not rises:
                yield pair, other, False

    def _closure(self, states: set[tuple[int, bool]], without: int | None = None) -> set[tuple[int, bool]]:
        """All (memory, whether the way there rises) that can be reached from some, these among them."""
        found, todo = set(states), [*states]
        while todo:
            for _, there, rises in self._steps(*todo.pop()):
                if there != without and (there, rises) not in found:
                    found.add((there, rises))
                    todo.append((there, rises))
        return found

    def may_be(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Whether two tensors of different memory may be one in eager."""
        return storage_key(one) != storage_key(other) and storage_key(other) in self.others(one)

    def conditions_of(self, one: torch.Tensor, other: torch.Tensor) -> list[list[SharedPair]] | None:
        """Lists of pairs, each of which makes them one if all its pairs are. None if there may be further ways."""
        key, target = storage_key(one), storage_key(other)
        ways = [*self._chains(key)]
        if len(ways) > _WAYS or target in self._unsure(key):
            return None
        found = [way for way in ways if storage_key(way[-1][0].from_(way[-1][1])[1]) == target]
        return [[pair for pair, _ in way] for way in found] if all(_leads(one, way, other) for way in found) else None

    # -- writes

    @contextmanager
    def off(self) -> Iterator[None]:
        """While results of sub-graphs are written back: inside, each tensor already has its value of eager."""
        was, self._is_off = self._is_off, True
        try:
            yield
        finally:
            self._is_off = was

    def before_write(self, tensor: torch.Tensor, reshapes: bool) -> Callable[[], None] | None:
        """Returns the function to call after `tensor` has been changed in place, which changes tensors that may be the
        same, or None. Raises CaptureError if that cannot be expressed, and the other one can still be seen."""
        if reshapes and not self._is_off and self.is_item(tensor):
            raise SharedWrite(False, _RESHAPED)
        others = set() if self._is_off else self.others(tensor)
        if not others or not self._reaches(others):
            return None
        unsure = others if reshapes else self._unsure(storage_key(tensor))
        ways = [] if reshapes else [*self._chains(storage_key(tensor))]
        if len(ways) > _WAYS or (unsure and self._reaches(unsure)):
            raise SharedWrite(self.left_open)
        is_tree = len({storage_key(way[-1][0].from_(way[-1][1])[1]) for way in ways}) == len(ways)
        return lambda: self._carry(tensor, ways, is_tree)

    def _unsure(self, key: int) -> set[int]:
        """The memory that may be the same by a pair without a known condition, or by further ones behind it."""
        steps = [step for state in self._closure({(key, False)}) for step in self._steps(*state)]
        unknown = {(there, rises) for pair, there, rises in steps if there != key and not self._can_carry(pair)}
        return {there for there, _ in self._closure(unknown, without=key)}

    def _chains(self, key: int) -> Iterator[_Way]:
        """The ways from `key` to other memory that pass no memory twice, the shortest first."""
        todo: list[tuple[_Way, int, bool, frozenset[int]]] = [((), key, False, frozenset({key}))]
        count = 0
        while todo and count <= _WAYS:
            way, at, rose, passed = todo.pop(0)
            for pair, there, rises in self._steps(at, rose):
                if there not in passed and self._can_carry(pair):
                    count += 1
                    further = (*way, (pair, at))
                    yield further
                    todo.append((further, there, rises, passed | {there}))

    def is_known(self, pair: SharedPair) -> bool:
        """Whether the program has both tensors of a pair, and the condition on which they are one."""
        return pair.remade is None and self._can_carry(pair)

    def _can_carry(self, pair: SharedPair) -> bool:
        """Whether the program can give one of a pair the value of the other, where they are one tensor."""
        if pair.predicate is None or not _is_same_kind(pair.result, pair.other):
            return False
        needed = [pair.result, pair.other if pair.remade is None else pair.remade.base]
        if isinstance(pair.predicate, torch.Tensor):
            needed.append(pair.predicate)
            if pair.version is None or version_of(pair.predicate) != pair.version:
                return False  # it was changed behind the branch
        return all(map(self._levels.sees, needed))

    def _carry(self, written: torch.Tensor, ways: list[_Way], is_tree: bool) -> None:
        """Copies the current values of `written` and its base to the others. If two paths lead to one memory, a value
        on a path may be older than its target, unless all earlier steps are true."""
        for way in ways:
            steps = way[-1:] if is_tree else way
            holds, truth = self._predicate(way[-1][0]), way[-1][0].truth
            if len(steps) > 1:
                holds, truth = self.all_hold([step for step, _ in steps]), True
            source, target = self._with_remade(*way[-1])
            if target.requires_grad and not written.requires_grad:  # autograd has not seen the write
                source, target = (self._run(_aten.detach.default, tensor) for tensor in (source, target))
            elif torch.is_grad_enabled() and (target.requires_grad is not source.requires_grad or _is_leaf(target)):
                raise SharedWrite(False)
            pair = (source, target) if truth else (target, source)
            self._run(_aten.copy_.default, target, self._run(_aten.where.self, holds, *pair))

    def _with_remade(self, pair: SharedPair, left_from: int) -> tuple[torch.Tensor, torch.Tensor]:
        """`from_`, with a view that a side has made as a tensor of the current level."""
        view = pair.remade
        if view is None:
            return pair.from_(left_from)
        made = view.make(lambda func, args: self._run(func, *args))
        if made is None or (torch.is_grad_enabled() and made.requires_grad and _is_leaf(view.base)):
            raise SharedWrite(False)
        return replace(pair, other=made).from_(left_from)

    def all_hold(self, pairs: Iterable[SharedPair]) -> torch.Tensor:
        """Whether each pair is one tensor, as a tensor of no dimensions."""
        parts = []
        for pair in pairs:
            holds = self._predicate(pair)
            parts.append(holds if pair.truth else self._run(_aten.logical_not.default, holds))
        whole, *rest = parts
        for part in rest:
            whole = self._run(_aten.logical_and.default, whole, part)
        return whole

    def _predicate(self, pair: SharedPair) -> torch.Tensor:
        if isinstance(pair.predicate, torch.Tensor):
            return pair.predicate
        number = torch.sym_ite(pair.predicate, 1, 0)
        options = {"dtype": torch.int64, "device": torch.device("cpu"), "pin_memory": False}
        full = self._recorder.operator(_aten.full.default, ([], number), options)
        return self._run(_aten.ne.Scalar, full, 0)

    def _run(self, func: Any, *args: Any) -> Any:
        with self.off():
            return self._recorder.operator(func, args, {})


def _leads(one: torch.Tensor, way: _Way, other: torch.Tensor) -> bool:
    """Whether the pairs of a way are about these tensors themselves, not about others of the same memory."""
    for pair, left_from in way:
        source, target = pair.from_(left_from)
        if source is not one:
            return False
        one = target
    return one is other


def _is_same_kind(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors can be one: a branch may give tensors of other shapes, or expanded ones."""
    if not (type(one) is type(other) is FakeTensor) or one.dtype is not other.dtype or one.device != other.device:
        return False
    if one.layout is not torch.strided or other.layout is not torch.strided or one.dim() != other.dim():
        return False
    if not all(map(_is_same_size, one.shape, other.shape)):
        return False
    return not any(map(_is_expanded, (one, other)))


def _is_expanded(tensor: torch.Tensor) -> bool:
    return any(type(stride) is int and stride == 0 for stride in tensor.stride())


def _is_leaf(tensor: torch.Tensor) -> bool:
    """Whether eager raises where a tensor is changed in place: a leaf that requires a gradient."""
    return tensor.is_leaf and tensor.requires_grad


def _is_same_size(one: Any, other: Any) -> bool:
    if type(one) is int or type(other) is int:
        return type(one) is type(other) and one == other
    return bool(one.node.core is other.node.core)
