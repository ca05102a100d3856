"""Sizes that the program leaves in its state: the example's, where a later call would see them.

They stay dynamic where a trace from any state that a call leaves gives the same program.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from dynamo_lite.tracing.later_calls import free_sizes


class Window(nn.Module):
    """As transformers' Swin: the window shrinks to the smallest size seen, for good."""

    def __init__(self) -> None:
        super().__init__()
        self.window = 6

    def forward(self, x: Tensor) -> Tensor:
        self.window = min(self.window, x.shape[1])
        return x[:, : self.window] * x.shape[0]


class Settings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {"length": 0}

    def forward(self, x: Tensor) -> Tensor:
        if self.seen["length"] != x.shape[1]:
            self.seen["length"] = x.shape[1]
        return x + self.seen["length"]


class Longest(Settings):
    """A later call with a smaller size finds the largest."""

    def forward(self, x: Tensor) -> Tensor:
        if self.seen["length"] < x.shape[1]:
            self.seen["length"] = x.shape[1]
        return x + self.seen["length"]


class First(Settings):
    """A later call finds the first size."""

    def forward(self, x: Tensor) -> Tensor:
        if self.seen["length"] == 0:
            self.seen["length"] = x.shape[1]
        return x + self.seen["length"]


class Repeated(Settings):
    """A later call with the same size does something else."""

    def forward(self, x: Tensor) -> Tensor:
        if self.seen["length"] != x.shape[1]:
            self.seen["length"] = x.shape[1]
            return x * 2
        return x + self.seen["length"]


class Shown(nn.Module):
    """Written before it is read: no state."""

    def forward(self, x: Tensor) -> Tensor:
        self.length = x.shape[1]
        return x / self.length


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def forward(self, x: Tensor) -> Tensor:
        self.total = self.total + x.shape[1]
        return x * self.total


AUTO = ({0: Dim.AUTO, 1: Dim.AUTO},)


@pytest.mark.parametrize("make", [Window, Longest, First])
def test_a_size_that_is_kept_is_a_number(make: type[nn.Module]) -> None:
    module = make()
    before = {key: dict(value) if isinstance(value, dict) else value for key, value in vars(module).items()}
    program = dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=AUTO)
    run = program.module()
    assert {key: before[key] for key in ("window", "seen") if key in before} == {
        key: vars(module)[key] for key in ("window", "seen") if key in before
    }
    for sizes in ((3, 4), (5, 4)):  # the batch stays dynamic
        x = torch.randn(sizes)
        torch.testing.assert_close(run(x), make()(x))
    with pytest.raises(Exception, match="4"):
        run(torch.randn(3, 5))


def test_a_kept_size_that_each_call_finds_or_makes_its_own_stays_dynamic() -> None:
    run, eager = dynamo_lite.export(Settings(), (torch.randn(3, 4),), dynamic_shapes=AUTO).module(), Settings()
    for sizes in ((3, 4), (5, 4), (3, 5), (2, 7), (2, 7), (3, 4), (1, 1), (4, 2), (3, 1)):
        x = torch.randn(sizes)
        torch.testing.assert_close(run(x), eager(x))
    assert eager.seen == {"length": 1}


def test_another_program_for_a_size_seen_before_is_refused() -> None:
    module = Repeated()
    with pytest.raises(GraphBreak, match="python-state"):
        dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=AUTO)
    assert module.seen == {"length": 0}


def test_the_line_is_told() -> None:
    with pytest.raises(dynamo_lite.errors.ConstraintViolation) as caught:
        dynamo_lite.export(Window(), (torch.randn(3, 4),), dynamic_shapes=({1: Dim.DYNAMIC},))
    assert "self.window = min(self.window, x.shape[1])" in str(caught.value)


def test_scratch_stays_symbolic() -> None:
    module = Shown()
    run = dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=AUTO).module()
    for sizes in ((3, 4), (2, 7), (1, 1)):
        x = torch.randn(sizes)
        torch.testing.assert_close(run(x), Shown()(x))


def test_a_sum_of_sizes_is_refused() -> None:
    module = Counter()
    with pytest.raises(GraphBreak):
        dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=AUTO)
    assert module.total == 0


class Backends(nn.Module):
    """As einops: the first call keeps a backend, from which some objects are reached on very many paths."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[type, Any] = {}

    def forward(self, x: Tensor) -> Tensor:
        if type(x) not in self.kept:
            shared: list[Any] = []
            for _ in range(6):
                shared = [shared] * 12
            self.kept[type(x)] = shared
        return x * x.shape[0]


def test_shared_objects_of_a_kept_value_are_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    parts = free_sizes._parts

    def counted(value: Any) -> list[Any]:
        opened.append(value)
        if len(opened) > 10_000:
            raise AssertionError("the search for sizes follows each path")
        return parts(value)

    monkeypatch.setattr(free_sizes, "_parts", counted)
    module = Backends()
    run = dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.DYNAMIC},)).module()
    x = torch.randn(5, 4)
    torch.testing.assert_close(run(x), Backends()(x))
    assert opened and module.kept == {}


class Unread(dict[str, Any]):
    """As transformers' mapping of models: its own methods import what they return."""

    def values(self) -> Any:
        raise OSError("imported by a look at the values")

    keys = items = __iter__ = values  # type: ignore[assignment]


class Holder:
    def __init__(self, size: Any) -> None:
        self.content = Unread(size=size)

    def __getattr__(self, name: str) -> Any:
        raise OSError(f"a look for {name}")


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[type, Any] = {}

    def forward(self, x: Tensor) -> Tensor:
        if type(x) not in self.kept:
            self.kept[type(x)] = Holder(3)
        return x * x.shape[0]


def test_the_search_for_sizes_calls_no_method_of_a_kept_object() -> None:
    run = dynamo_lite.export(Lazy(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim.DYNAMIC},)).module()
    x = torch.randn(5, 4)
    torch.testing.assert_close(run(x), Lazy()(x))


class RemembersShape(nn.Module):
    def __init__(self, before: Any) -> None:
        super().__init__()
        self.shape = before

    def forward(self, x: Tensor) -> Tensor:
        self.shape = x.shape if isinstance(self.shape, torch.Size) else (x.shape[0], x.shape[1])
        return x + 1


@pytest.mark.parametrize("before", [torch.Size([4, 3]), torch.Size([2, 3]), (4, 3), (2, 3)])
def test_a_shape_that_no_call_reads_fixes_no_size(before: Any) -> None:
    """What it held before is not compared with the sizes: `x.shape[0] != 4` was a condition of the program."""
    model = RemembersShape(before)
    run = dynamo_lite.export(model, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n")},)).module()
    assert model.shape == before
    for n in range(6):
        assert torch.equal(run(torch.zeros(n, 3)), torch.ones(n, 3))
