"""State that registered containers keep beside their tensors: read, written and returned"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tests.export.probe import Case, Probe, equal, refused, t


class Holder:
    """Keeps a class, a number and a name; only its tensors come back from the registered functions."""

    def __init__(self, parts: Any = (), kind: Any = None, used: int = 0, name: str = "none") -> None:
        self.parts = list(parts)
        self.kind = kind
        self.used = used
        self.name = name


pytree.register_pytree_node(
    Holder, lambda c: (c.parts, None), lambda parts, _: Holder(parts), serialized_type_name=f"{__name__}.Holder"
)


def _probe(called: str, answer: Any, program: Any, count: int = 1, returned: bool = False, **state: Any) -> Probe:
    def build() -> Any:
        return Case(program, (Holder([t(3) for _ in range(count)], **state),), returned=returned)

    build.__name__ = called
    return answer(build)  # type: ignore[no-any-return]


def _layers_added_lazily(c: Holder) -> Any:
    if c.kind is not None:
        while len(c.parts) < 2:
            c.parts.append(c.kind())
    return c.parts[0] + c.parts[1]


layers_added_lazily = _probe("layers_added_lazily", equal, _layers_added_lazily, 2, kind=dict)


def _decided_alike(c: Holder) -> Any:
    return c.parts[0] * (2 if c.used < 100 else 3)


decided_alike = _probe("decided_alike", equal, _decided_alike, used=5)


def _all_counted(c: Holder) -> Any:
    return c.parts[0] * len(vars(c))


all_counted = _probe("all_counted", equal, _all_counted, kind=dict)


class _Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, c: Holder) -> Any:
        if c.kind is not None:
            self.n += 1
        else:
            self.n += 1
        return c.parts[0] + self.n


@equal
def buffer_changed_on_either_side():
    return _Counts(), (Holder([t(3)], kind=dict),)


lost = refused("container-state")


def _used(c: Holder) -> Any:
    return c.parts[0] * c.used


number_used = _probe("number_used", lost, _used, used=5)


def _part_added(c: Holder) -> Any:
    if c.kind is not None and len(c.parts) < 2:
        c.parts.append(torch.ones(3))
    return c.parts[0]


part_added = _probe("part_added", lost, _part_added, kind=dict)


def _raises_without(c: Holder) -> Any:
    if c.kind is None:
        raise ValueError("no kind")
    return c.parts[0]


raises_without = _probe("raises_without", lost, _raises_without, kind=dict)


def _raises_with(c: Holder) -> Any:
    if c.kind is not None:
        raise KeyError("a kind")
    return c.parts[0]


raises_with = _probe("raises_with", lost, _raises_with, kind=dict)


@lost
def guard_on_one_side():
    def f(c):
        if c.kind is not None and c.parts[0].shape[0] > 2:
            return 2 * c.parts[0]
        return c.parts[0] * 2

    c = Holder([t(3)], kind=dict)
    return Case(f, (c,), dynamic_shapes=([{0: torch.export.Dim.AUTO}],))


returned = refused("result-state")
identity = _probe("identity", returned, lambda c: c, used=5)
identity_within = _probe("identity_within", returned, lambda c: {"a": [c]}, used=5)


def _part_changed(c: Holder) -> Any:
    c.parts[0] = c.parts[0] + 1
    return c


part_changed = _probe("part_changed", returned, _part_changed, used=5, name="x")


def _number_written(c: Holder) -> Any:
    c.used = 5
    return c


number_written = _probe("number_written", returned, _number_written, returned=True)


def _written_as_restored(c: Holder) -> Any:
    c.used = 0
    return c


written_as_restored = _probe("written_as_restored", equal, _written_as_restored, returned=True, used=5)

changed = refused("input-container")


def _counted(c: Holder) -> Any:
    c.used += 1
    return c.parts[0]


counted = _probe("counted", changed, _counted)


def _marked(c: Holder) -> Any:
    c.extra = 3  # type: ignore[attr-defined]
    return c.parts[0]


marked = _probe("marked", changed, _marked)


def _reset(c: Holder) -> Any:
    c.used = 0
    return c.parts[0]


reset = _probe("reset", changed, _reset, used=4)


def _kept(c: Holder) -> Any:
    c.last = c.parts[0] * 2  # type: ignore[attr-defined]
    return c.parts[0]


tensor_kept = _probe("tensor_kept", changed, _kept)


def _deleted(c: Holder) -> Any:
    del c.name
    return c.parts[0]


deleted = _probe("deleted", changed, _deleted)


def _written_back(c: Holder) -> Any:
    c.name = c.name
    c.used += 1
    c.used -= 1
    return c.parts[0]


written_back = _probe("written_back", equal, _written_back)
