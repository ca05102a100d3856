"""Layers in plain lists and dicts: their buffers are state of the program, as they are of the model."""

import copy
import io

import pytest
import torch
from torch import nn

import dynamo_lite


class Normed(nn.Module):
    """Batch norms that no module registers, in a list, a dict and a tuple, and one buffer that is not saved."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.norms = [nn.BatchNorm1d(6), {"inner": (nn.BatchNorm1d(6, momentum=0.3),)}]
        self.norms[0].register_buffer("calls", torch.zeros(()), persistent=False)
        self.shift = torch.ones(6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, others = self.norms
        first.calls.add_(1)
        y = others["inner"][0](self.linear(x) + self.shift)
        return first(y) * torch.tensor(2.0) + first.calls


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("train", [True, False])
def test_buffers_change_as_in_eager(strict: bool, train: bool) -> None:
    torch.manual_seed(0)
    model = Normed()
    norms = (model.norms[0], model.norms[1]["inner"][0])
    for norm in norms:
        norm.train(train)
    eager, example = copy.deepcopy(model), torch.randn(5, 6)
    program = dynamo_lite.export(model, (example,), strict=strict)
    assert norms[0].num_batches_tracked == 0  # the model is as it was
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    versions = [program, torch.export.load(file), program.run_decompositions()]
    modules = [copy.deepcopy(version.module()) for version in versions]
    for _ in range(3):
        x = torch.randn(5, 6)
        expected = eager(x)
        for module in modules:
            torch.testing.assert_close(module(x), expected)
    counts = sorted(v.item() for v in modules[0].state_dict().values() if v.dtype is torch.int64)
    assert counts == ([3, 3] if train else [])  # in evaluation the program reads no count
    assert "calls" not in str([*program.state_dict])


def test_the_state_of_a_program_has_them() -> None:
    model = Normed()
    program = dynamo_lite.export(model, (torch.randn(5, 6),))
    specs = program.graph_signature.input_specs
    buffers = {spec.target: spec.persistent for spec in specs if spec.persistent is not None}
    assert [*buffers.values()].count(False) == 1
    assert {name for name, kept in buffers.items() if kept} <= program.state_dict.keys()
    loaded = {name: value + 1 for name, value in program.state_dict.items()}
    module = program.module()
    module.load_state_dict(loaded, strict=False)
    for name in buffers.keys() & loaded.keys():
        torch.testing.assert_close(module.state_dict()[name], loaded[name])


def test_a_tensor_in_a_list_that_is_changed_is_a_buffer() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counts = [torch.zeros(3)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.counts[0].add_(1)
            return x + self.counts[0]

    module = Counted()
    program = dynamo_lite.export(module, (torch.ones(3),))
    assert [*program.state_dict] == ["lifted_buffer_0"] and torch.equal(module.counts[0], torch.zeros(3))
    for round_ in (1, 2):
        assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 1.0 + round_))
        assert torch.equal(module.counts[0], torch.full((3,), float(round_)))  # the very tensor, as in eager


@pytest.mark.parametrize("taken", [True, False])
def test_within_a_branch_on_data(taken: bool) -> None:
    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = [nn.BatchNorm1d(3)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.norms[0](x)
            return y * 2 if y.sum() + x.sum() > 0 else y - 1

    model = Branch()
    eager = copy.deepcopy(model)
    module = dynamo_lite.export(model, (torch.ones(4, 3),)).module()
    for _ in range(2):
        x = torch.rand(4, 3) * (1 if taken else -1)
        torch.testing.assert_close(module(x), eager(x))


def test_a_function_has_no_modules() -> None:
    offset = torch.ones(3)
    assert torch.equal(dynamo_lite.export(lambda x: x + offset, (torch.ones(3),)).module()(torch.ones(3)), offset * 2)
