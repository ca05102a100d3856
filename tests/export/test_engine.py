"""The judge itself: it finds eager equal to eager, and every kind of wrong program wrong."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from dynamo_lite.lab.snapshot import UserObjects

from .probe import Probe, all_probes, equal, raises
from .verdict import Exporter, itself, judge


def _equal_probes() -> list[Probe]:
    """Those that have to be equal: what may be refused as well may be no function of its inputs (a reference count)."""
    return [probe for probe in all_probes() if probe.allowed == {"equal"}]


@pytest.mark.parametrize("probe", _equal_probes()[::5], ids=lambda probe: probe.name)
def test_eager_equals_itself(probe: Probe) -> None:
    verdict = judge(probe, itself)
    assert (verdict.kind, verdict.changed) == ("equal", None), verdict.text


class Model(nn.Module):
    """Changes an input and a buffer in place, and returns a view, a constant and a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.zeros(3))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        x.add_(1)
        self.b += x
        return {"view": x[:2], "new": (x * self.b, 7)}


@equal
def model() -> Any:
    return Model(), (torch.randn(3),)


def _with(change: Callable[[Any, Any, torch.Tensor], Any]) -> Exporter:
    """An exporter whose program runs the module and then spoils the result: change(module, output, x)."""

    class Wrong(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.register_buffer("b", inner.b)
            self.inner = inner

        def forward(self, x: torch.Tensor) -> Any:
            return change(self.inner, self.inner(x), x)

    return lambda program, args, kwargs: Wrong(program)


def _identity(module: Any, out: Any, x: Any) -> Any:
    return out


WRONG: dict[str, Callable[[Any, Any, torch.Tensor], Any]] = {
    "another value": lambda m, out, x: {**out, "new": (out["new"][0] + 0.1, 7)},
    "another constant": lambda m, out, x: {**out, "new": (out["new"][0], 8)},
    "another type of constant": lambda m, out, x: {**out, "new": (out["new"][0], 7.0)},
    "a list for a tuple": lambda m, out, x: {**out, "new": list(out["new"])},
    "another order": lambda m, out, x: dict(reversed(out.items())),
    "a copy for a view": lambda m, out, x: {**out, "view": out["view"].clone()},
    "another dtype": lambda m, out, x: {**out, "new": (out["new"][0].double(), 7)},
    "gradients lost or won": lambda m, out, x: {**out, "new": (out["new"][0].clone().requires_grad_(), 7)},
    "the input not as changed": lambda m, out, x: (x.sub_(1), {**out, "view": x[:2]})[1],
    "the buffer not as changed": lambda m, out, x: (m.b.zero_(), out)[1],
    "grad mode left off": lambda m, out, x: (torch.set_grad_enabled(False), out)[1],
    "an error": lambda m, out, x: out["missing"],
}


def test_right_wrapper_is_equal() -> None:
    assert judge(model, _with(_identity)).kind == "equal"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_program_is_found(name: str) -> None:
    verdict = judge(model, _with(WRONG[name]))
    assert verdict.kind == ("fails" if name == "an error" else "wrong"), name
    assert verdict.complaint(model)


def test_state_frozen_at_export_is_found_in_a_later_call() -> None:
    @equal
    def counter() -> Any:
        class M(nn.Module):
            n = 0

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.n += 1
                return x * self.n

        return M(), (torch.randn(3),)

    frozen: Exporter = lambda program, args, kwargs: lambda x: x * 1  # noqa: E731
    verdict = judge(counter, frozen)
    assert verdict.kind == "wrong" and "call 1" in verdict.text


def test_program_for_an_example_that_raises_is_not_right() -> None:
    @raises
    def broken() -> Any:
        def forward(x: torch.Tensor) -> torch.Tensor:
            raise ValueError("no")

        return forward, (torch.randn(3),)

    assert judge(broken, itself).complaint(broken)


# ---- snapshots


class Slotted:
    __slots__ = ("n",)


class Thing:
    shared = 1

    def __init__(self) -> None:
        self.list = [1]
        self.dict = {"a": 1}
        self.set = {1}
        self.slotted = Slotted()
        self.slotted.n = 1
        self.tensor = torch.zeros(3)
        self.iterator = iter([1, 2, 3])
        self.generator = (i for i in range(3))
        self.cached = functools.lru_cache(lambda n: n)
        count = 1

        def closure(default: list[int] = []) -> int:  # noqa: B006
            nonlocal count
            count += 1
            return count

        self.closure = closure


def _shared(thing: Thing) -> None:
    Thing.shared += 1


CHANGES: dict[str, Callable[[Thing], Any]] = {
    "attribute": lambda thing: setattr(thing, "new", 1),
    "deleted attribute": lambda thing: delattr(thing, "list"),
    "list": lambda thing: thing.list.append(2),
    "dict order": lambda thing: thing.__dict__.update({"list": thing.__dict__.pop("list")}),
    "set": lambda thing: thing.set.add(2),
    "slot": lambda thing: setattr(thing.slotted, "n", 2),
    "class": _shared,
    "tensor data": lambda thing: thing.tensor.add_(1),
    "tensor flag": lambda thing: thing.tensor.requires_grad_(),
    "tensor storage": lambda thing: thing.tensor.set_(torch.zeros(3)),
    "iterator": lambda thing: next(thing.iterator),
    "generator": lambda thing: next(thing.generator),
    "cell": lambda thing: thing.closure(),
    "default": lambda thing: thing.closure.__defaults__[0].append(1),
    "code": lambda thing: setattr(thing.closure, "__code__", thing.closure.__code__.replace(co_name="other")),
    "lru_cache": lambda thing: thing.cached(1),
    "torch's random state": lambda thing: torch.rand(1),
    "Python's random state": lambda thing: random.random(),
    "grad mode": lambda thing: torch.set_grad_enabled(False),
    "default dtype": lambda thing: torch.set_default_dtype(torch.float64),
}


@pytest.mark.parametrize("name", CHANGES)
def test_snapshot_sees_the_change(name: str) -> None:
    thing = Thing()
    snapshot = UserObjects([thing])
    assert snapshot.changes() is None
    try:
        CHANGES[name](thing)
        assert snapshot.changes() is not None
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def test_snapshot_finds_a_fake_tensor() -> None:
    thing = Thing()
    with FakeTensorMode():
        thing.dict["deep"] = [torch.zeros(3)]
    assert UserObjects([thing]).fakes == ["[0].dict['deep'][0]"]


def test_snapshot_of_a_copy_has_no_changes() -> None:
    first = UserObjects([copy.deepcopy(Model())])
    assert first.changes() is None
