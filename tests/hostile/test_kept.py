"""Values kept from the first call on: what is noted, what is dropped on request, and what results hold."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import dynamo_lite


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("scale", torch.ones(3))
        self.cache: dict[str, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if "bias" not in self.cache:
            self.cache["bias"] = self.weight * self.scale
        return x + self.cache["bias"]


def test_the_assumption_is_noted() -> None:
    trace = dynamo_lite.trace(Cached(), (torch.zeros(3),))
    (effect,) = trace.effects
    assert effect.verdict.value == "first call only"
    assert effect.rests_on == ("the parameter weight", "the buffer scale")
    assert any("as long as nothing changes the parameter weight, the buffer scale" in note for note in trace.notes)


def test_the_program_follows_the_parameter() -> None:
    """Eager keeps the first value, which the note says; the program computes it from what the parameter is."""
    program = dynamo_lite.export(Cached(), (torch.zeros(3),)).module()
    with torch.no_grad():
        program.weight.mul_(2)
    assert torch.equal(program(torch.zeros(3)), torch.full((3,), 2.0))


def test_the_module_is_as_before() -> None:
    module = Cached()
    dynamo_lite.export(module, (torch.zeros(3),))
    assert module.cache == {}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda m, x: x * 2, "it is computed from the input x"),
        (lambda m, x: torch.rand(3), "it is drawn at random"),
        (lambda m, x: m.scale.add_(1) * 2, "it is computed from scale, which the program changes"),
    ],
)
def test_a_refusal_says_why(make: object, reason: str) -> None:
    class Kept(Cached):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if "k" not in self.cache:
                self.cache["k"] = make(self, x)  # type: ignore[operator]
            return x + self.cache["k"]

    with pytest.raises(dynamo_lite.errors.GraphBreak, match=reason):
        dynamo_lite.export(Kept(), (torch.zeros(3),))


# ---- attributes of tensors


def tag_an_input(x: torch.Tensor) -> torch.Tensor:
    x.tag = getattr(x, "tag", 0) + 3  # type: ignore[attr-defined]
    return x + x.tag  # type: ignore[attr-defined]


def mask_on_an_input(x: torch.Tensor) -> torch.Tensor:
    x.mask = x > 0  # type: ignore[attr-defined]
    return x * x.mask  # type: ignore[attr-defined]


def set_and_deleted(x: torch.Tensor) -> torch.Tensor:
    x.tag = 1  # type: ignore[attr-defined]
    del x.tag  # type: ignore[attr-defined]
    return x + hasattr(x, "tag")


class Tags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.w.initialized = 2  # type: ignore[attr-defined]
        return x * self.w * self.w.initialized  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "program", [tag_an_input, mask_on_an_input, set_and_deleted, Tags()], ids=["tag", "mask", "deleted", "parameter"]
)
def test_an_attribute_of_a_tensor_may_be_dropped(program: object) -> None:
    x = torch.randn(3)
    with pytest.raises(dynamo_lite.errors.GraphBreak, match="tensor-attribute"):
        dynamo_lite.export(program, (x,))  # type: ignore[arg-type]
    trace = dynamo_lite.trace(program, (x,), effects="drop")  # type: ignore[arg-type]
    assert not vars(x)
    assert {effect.verdict.value for effect in trace.effects} == {"dropped"}
    if isinstance(program, Tags):
        assert not vars(program.w)
    assert torch.equal(trace.program.module()(x), program(x.clone()))  # type: ignore[operator]


def test_what_torch_reads_is_no_plain_attribute() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.requires_grad = True
        return x * 2

    with pytest.raises(dynamo_lite.errors.GraphBreak, match="tensor-attribute"):
        dynamo_lite.export(program, (torch.zeros(3),), effects="drop")


def test_the_gradient_of_an_argument_may_be_dropped() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x.grad = torch.ones(3)
        return x * 2 + x.grad

    x = torch.zeros(3)
    with pytest.raises(dynamo_lite.errors.GraphBreak, match="input-gradient"):
        dynamo_lite.export(program, (x,))
    trace = dynamo_lite.trace(program, (x,), effects="drop")
    assert x.grad is None and "dropped" in {effect.verdict.value for effect in trace.effects}
    assert torch.equal(trace.program.module()(x), program(x.clone()))


# ---- objects in results


@dataclasses.dataclass
class Inner:
    numbers: list[int]


class Outer:
    def __init__(self, x: torch.Tensor, inner: Inner, shared: Inner) -> None:
        self.x, self.inner, self.again, self.shared = x, inner, [inner], shared


class Updated:
    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


CONFIG = Inner([7])


def test_each_result_has_objects_of_its_own() -> None:
    program = dynamo_lite.export(lambda x: Outer(x, Inner([1]), CONFIG), (torch.zeros(3),)).module()
    first = program(torch.zeros(3))
    first.inner.numbers.append(2)
    second = program(torch.zeros(3))
    assert second.inner.numbers == [1]
    assert second.inner is second.again[0]
    assert first.shared is CONFIG is second.shared


def test_an_object_of_the_run_keeps_its_state() -> None:
    program = dynamo_lite.export(lambda x: (x, Updated(n=1, inner=Updated(m=[2]))), (torch.zeros(3),)).module()
    for _ in range(2):
        result = program(torch.zeros(3))[1]
        assert result.n == 1
        assert result.inner.m == [2]
        result.inner.m = None
