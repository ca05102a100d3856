"""What shares memory with a parameter or buffer follows it: in copies of a program, saved ones, with other weights."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

import dynamo_lite
from dynamo_lite.capture.graph.view_steps import view_steps
from tests.hostile.programs.shared_memory import VIEWS, Holder, changed_before


def _load(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


WAYS: dict[str, Callable[[ExportedProgram], ExportedProgram]] = {
    "as it is": lambda program: program,
    "a deep copy": copy.deepcopy,
    "saved and loaded": _load,
    "decomposed": lambda program: program.run_decompositions(),
}


def _with_other_weights(module: Any) -> Any:
    generator = torch.Generator().manual_seed(5)
    state = {name: torch.randn(value.shape, generator=generator) for name, value in module.state_dict().items()}
    module.load_state_dict(state)
    return module


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "buffer": (VIEWS["row"], changed_before),
    "bytes": (VIEWS["other_dtype"], changed_before),
    "parameter": (lambda m: m.w[0], lambda m, x: x * m.v),
    "written": (lambda m: m.b[1:], lambda m, x: (m.v.add_(x), m.b * 1)[1]),
    "numpy": (lambda m: m.b.numpy(), lambda m, x: x + torch.from_numpy(m.v)[2]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_weights_reach_the_view(name: str, way: str) -> None:
    module, x = Holder(*PROGRAMS[name]), torch.randn(4)
    program = WAYS[way](dynamo_lite.export(Holder(*PROGRAMS[name]), (x,))).module()
    _with_other_weights(module), _with_other_weights(program)
    for _ in range(3):
        torch.testing.assert_close(program(x), module(x))


def test_an_optimizer_step_reaches_the_view_and_gradients_the_parameter() -> None:
    module, x = Holder(lambda m: m.w[0], lambda m, x: x * m.v + m.w[1]), torch.randn(4)
    program = dynamo_lite.export(module, (x,)).module()
    other = Holder(lambda m: m.w[0], lambda m, x: x * m.v + m.w[1])
    with torch.no_grad():
        other.w.copy_(module.w)
    for step in (program, other):
        optimizer = torch.optim.SGD(step.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            step(x).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(program.w, other.w)


def test_a_view_is_no_constant_of_the_program() -> None:
    program = dynamo_lite.export(Holder(VIEWS["row"], changed_before), (torch.randn(4),))
    assert list(program.constants) == ["c"]  # the buffer that is not in the state_dict
    assert "lifted_tensor" not in str(program.graph)


def test_steps_lead_to_every_view_of_three_dimensions() -> None:
    dense = torch.arange(24.0).view(2, 3, 4)
    for base in (dense, dense.permute(2, 0, 1), dense.transpose(1, 2)):
        for index in _INDICES:
            part = base[index]
            for view in (part, part.T if part.dim() == 2 else part, part[..., None]):
                steps = view_steps(base, view, view.data_ptr() - base.data_ptr())
                assert steps is not None, (base.stride(), index)
                made = base
                for step in steps:
                    made = step.func(made, *step.args)
                assert made.stride() == view.stride() or 1 in view.shape, (base.stride(), index)
                assert torch.equal(made, view) and made.data_ptr() == view.data_ptr(), (base.stride(), index)


_ONE = (slice(None), slice(1, None), slice(None, None, 2), 0, 1)
_INDICES = [(a, b, c) for a in _ONE for b in _ONE for c in _ONE]


def test_a_program_without_arguments() -> None:
    module = nn.Module()
    module.register_buffer("b", torch.ones(2, 3))
    module.v = module.b[1]
    module.forward = lambda: module.v + 1  # type: ignore[method-assign]
    torch.testing.assert_close(dynamo_lite.export(module).module()(), torch.full((3,), 2.0))
