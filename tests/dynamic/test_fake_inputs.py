"""Inputs and modules under a FakeTensorMode of the user's, with sizes that vary: as if their tensors were real."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import InvalidArguments

BATCH = ({0: Dim.AUTO},)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()


def fakes(*shapes: tuple[int, ...], mode: FakeTensorMode | None = None) -> list[Tensor]:
    with mode or FakeTensorMode():
        return [torch.empty(shape) for shape in shapes]


def test_a_module_without_data() -> None:
    mode = FakeTensorMode()
    with mode:
        module = network()
    program = dynamo_lite.export(module, tuple(fakes((4, 3), mode=mode)), dynamic_shapes=BATCH)
    assert all(node.meta["val"].device.type == "cpu" for node in program.graph.nodes if node.op == "call_function")
    real = network()
    run = program.module()
    run.load_state_dict(real.state_dict(), assign=True)
    for n in (4, 7, 1):
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(x), real(x))
    names = [node.name for node in dynamo_lite.export(real, (torch.randn(4, 3),), dynamic_shapes=BATCH).graph.nodes]
    assert [node.name for node in program.graph.nodes] == names


def test_devices_are_those_of_the_fakes() -> None:
    def program(x: Tensor) -> Tensor:
        return x + torch.arange(x.shape[0], device=x.device)[:, None]

    run = dynamo_lite.export(program, tuple(fakes((4, 3))), dynamic_shapes=BATCH).module()
    x = torch.randn(6, 3)
    torch.testing.assert_close(run(x), program(x))


def test_sizes_that_do_not_vary_beside_those_that_do() -> None:
    def program(x: Tensor, y: Tensor) -> Any:
        return x @ y.t(), x.shape[0]

    run = dynamo_lite.export(program, tuple(fakes((4, 3), (5, 3))), dynamic_shapes=({0: Dim("n")}, None)).module()
    x, y = torch.randn(9, 3), torch.randn(5, 3)
    torch.testing.assert_close(run(x, y)[0], x @ y.t())


def test_shared_memory_is_refused() -> None:
    (x,) = fakes((4, 3))
    with pytest.raises(InvalidArguments, match="share memory"):
        dynamo_lite.export(lambda a, b: a.add_(b), (x, x), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))


def test_within_the_mode_it_is_refused() -> None:
    mode = FakeTensorMode()
    with mode, pytest.raises(InvalidArguments, match="outside of the FakeTensorMode"):
        dynamo_lite.export(network(), tuple(fakes((4, 3), mode=mode)), dynamic_shapes=BATCH)
