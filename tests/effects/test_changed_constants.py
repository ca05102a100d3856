"""Tensors from outside that no module registers and that the program changes in place: buffers, as eager changes them.

Four calls in a row of the program and of eager, on the same inputs: results, what they share, the state itself.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import UnsupportedEffect

X = torch.tensor([1.0, -2.0, 3.0])
Made = tuple[Callable[..., Any], Sequence[Tensor]]
PROGRAMS: dict[str, Callable[[], Made]] = {}


def program(make: Callable[[], Made]) -> Callable[[], Made]:
    """`make` returns the program and its state, new in each call."""
    PROGRAMS[make.__name__] = make
    return make


@program
def a_global() -> Made:
    total = torch.zeros(3)

    def forward(x: Tensor) -> Tensor:
        total.add_(x)
        return total * 2

    return forward, [total]


@program
def returned_itself() -> Made:
    total = torch.zeros(3)

    def forward(x: Tensor) -> Tensor:
        return total.add_(x)

    return forward, [total]


@program
def returned_in_part() -> Made:
    total = torch.zeros(3)

    def forward(x: Tensor) -> Tensor:
        total.add_(x)
        return total[1:]

    return forward, [total]


@program
def a_row() -> Made:
    total = torch.zeros(2, 3)

    def forward(x: Tensor) -> Tensor:
        total[0].add_(x)
        total[1, 1:] = x[0]
        return total * 1

    return forward, [total]


@program
def base_after_its_view() -> Made:
    total = torch.zeros(6)
    first = total[:3]

    def forward(x: Tensor) -> Tensor:
        y = total * 1
        first.add_(x)
        return y + total.sum()

    return forward, [total]


@program
def read_before_it_is_changed() -> Made:
    total = torch.ones(3)

    def forward(x: Tensor) -> Tensor:
        scale = total.sum() + 1
        before = total.clone()
        total.mul_(x)
        return x * scale + before

    return forward, [total]


@program
def a_branch_on_it() -> Made:
    calls = torch.zeros(())

    def forward(x: Tensor) -> Tensor:
        calls.add_(1)
        return x * 2 if calls > 2 else x * 3

    return forward, [calls]


@program
def a_number_of_it() -> Made:
    calls = torch.zeros((), dtype=torch.long)

    def forward(x: Tensor) -> Tensor:
        number = calls.item()
        calls.add_(1)
        return x * number

    return forward, [calls]


@program
def changed_in_a_branch() -> Made:
    total = torch.zeros(3)

    def forward(x: Tensor) -> Tensor:
        if x.sum() > 1:
            total.add_(x)
        return total + x

    return forward, [total]


@program
def changed_in_a_loop_on_data() -> Made:
    total = torch.zeros(3)

    def forward(x: Tensor) -> Tensor:
        while total.sum() < 5:
            total.add_(x.abs())
        return total + x

    return forward, [total]


@program
def a_frozen_parameter() -> Made:
    average = nn.Parameter(torch.zeros(3), requires_grad=False)

    def forward(x: Tensor) -> Tensor:
        average.mul_(0.5).add_(x)
        return average + 0

    return forward, [average]


@program
def averages_of_a_module() -> Made:
    model = nn.Linear(3, 3)
    averages = [parameter.detach().clone() for parameter in model.parameters()]
    other = copy.deepcopy(model).requires_grad_(False)

    def forward(x: Tensor) -> Tensor:
        y = model(x)
        with torch.no_grad():
            for average, theirs, parameter in zip(averages, other.parameters(), model.parameters()):
                average.lerp_(parameter, 0.1)
                theirs.mul_(0.9).add_(parameter, alpha=0.2)
        return (y + other(x)).detach() + averages[1].detach()

    return forward, [*averages, *other.parameters()]


@program
def statistics() -> Made:
    mean, var = torch.zeros(3), torch.ones(3)

    def forward(x: Tensor) -> Tensor:
        return F.batch_norm(torch.stack([x, x * 2, -x]), mean, var, training=True, momentum=0.5)

    return forward, [mean, var]


@program
def a_model_that_is_closed_over() -> Made:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))

    def forward(x: Tensor) -> Tensor:
        return model(torch.stack([x, x * 2, -x])).detach()

    return forward, [*model.buffers()]


@program
def attributes() -> Made:
    class Module(nn.Module):
        of_class = torch.zeros(3)

        def __init__(self) -> None:
            super().__init__()
            self.count = torch.zeros(())
            self.held = [torch.zeros(3), torch.ones(3)]

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            self.held[1].mul_(x)
            self.held[0].add_(self.held[1])
            self.of_class.add_(x)
            return self.held[0] * self.count + self.of_class

    Module.of_class = torch.zeros(3)
    module = Module()
    return module, [module.count, *module.held, module.of_class]


@program
def another_dtype_on_its_memory() -> Made:
    total = torch.zeros(4)
    bits = total.view(torch.int32)

    def forward(x: Tensor) -> Tensor:
        bits.add_(1)
        return total + x.sum()

    return forward, [total]


def _tensors(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else [tensor for part in value for tensor in _tensors(part)]


def _shared(results: list[Tensor], state: Sequence[Tensor]) -> list[list[bool]]:
    where = [tensor.untyped_storage().data_ptr() for tensor in state]
    return [[result.untyped_storage().data_ptr() == at for at in where] for result in results]


@pytest.mark.parametrize("way", ["module", "saved", "decomposed"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_four_calls_are_as_in_eager(name: str, way: str) -> None:
    torch.manual_seed(0)
    forward, state = PROGRAMS[name]()
    torch.manual_seed(0)
    eager, eager_state = PROGRAMS[name]()
    exported: Any = dynamo_lite.export(forward, (X.clone(),))
    assert all(map(torch.equal, state, eager_state))  # an export changes nothing
    if way == "saved":
        file = io.BytesIO()
        dynamo_lite.save(exported, file)
        file.seek(0)
        exported = dynamo_lite.load(file)
    elif way == "decomposed":
        exported = exported.run_decompositions()
    module = exported.module()
    for scale in (1.0, 2.0, -1.0, 0.5):
        found, expected = _tensors(module(X * scale)), _tensors(eager(X * scale))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)
            assert one.requires_grad == other.requires_grad or way == "decomposed"
        if way == "module":
            assert all(torch.equal(one, other) for one, other in zip(state, eager_state))
            assert _shared(found, state) == _shared(expected, eager_state)


def test_it_is_noted_and_in_the_signature() -> None:
    forward, _ = a_global()
    program = dynamo_lite.export(forward, (X,))
    assert [*program.graph_signature.buffers] == ["lifted_buffer_0"]
    decomposed = program.run_decompositions()  # in which the new value is an output
    assert [*decomposed.graph_signature.buffers_to_mutate.values()] == ["lifted_buffer_0"]
    assert any("it is the buffer lifted_buffer_0" in note for note in program.notes)


def test_memory_of_an_array_is_refused() -> None:
    table = np.zeros(3, dtype=np.float32)

    def forward(x: Tensor) -> Tensor:
        total = torch.from_numpy(table)
        total.add_(x)
        return total * 2

    with pytest.raises(UnsupportedEffect, match="constant-mutated"):
        dynamo_lite.export(forward, (X,))


def test_two_that_overlap_are_refused() -> None:
    total = torch.zeros(6)
    first, second = total[:4], total[2:]

    def forward(x: Tensor) -> Tensor:
        first[:3].add_(x)
        second.mul_(2)
        return first * 1

    with pytest.raises(UnsupportedEffect):
        dynamo_lite.export(forward, (X,))


def test_a_tensor_that_c_code_makes_in_each_call_is_no_state() -> None:
    def forward(x: Tensor) -> Tensor:
        fresh = torch.from_numpy(np.ones(3, dtype=np.float32))
        fresh.add_(1)
        return x + fresh

    try:
        module = dynamo_lite.export(forward, (X,)).module()
    except UnsupportedEffect:
        return
    for _ in range(3):
        torch.testing.assert_close(module(X), forward(X))


def test_an_export_leaves_the_memory_of_a_constant_resizable() -> None:
    """A fingerprint read it through numpy, after which its storage could not be resized, and a later export took it for
    an array's."""
    constant, model = torch.zeros(3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return x * constant

    dynamo_lite.export(step, (X,))
    assert constant.untyped_storage().resizable()

    def later(x: Tensor) -> Tensor:
        constant.add_(x)
        return constant * 1

    torch.testing.assert_close(dynamo_lite.export(later, (X,)).module()(X), X)


def test_a_region_of_operators_that_return_nothing_is_loaded() -> None:
    class Scaled(nn.Module):
        scale: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.ones(3))

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                torch._foreach_mul_([self.scale], 2)
            return x * 3

    program, file = dynamo_lite.export(Scaled(), (X,)), io.BytesIO()
    dynamo_lite.save(program, file)
    file.seek(0)
    module = dynamo_lite.load(file).module()
    for count in (1, 2):
        torch.testing.assert_close(module(X), X * 3)
        torch.testing.assert_close(module.scale, torch.full((3,), 2.0**count))
    decomposed = dynamo_lite.export(Scaled(), (X,)).run_decompositions().module()
    decomposed(X)
    torch.testing.assert_close(decomposed.scale, torch.full((3,), 2.0))
