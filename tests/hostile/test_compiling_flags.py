"""Each place of the installed torch that asks whether it is being compiled has a row in compiling_flags.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
import torch

import dynamo_lite
from dynamo_lite.tracing.policy.compiling_flags import BRANCHES, FUSED

TORCH = Path(torch.__file__).parent
ASKED = {"is_compiling", "is_exporting", "is_dynamo_compiling"}
BELOW = {
    *("_dynamo", "_inductor", "_functorch", "_higher_order_ops", "_subclasses", "_export", "_vendor", "_native"),
    *("export", "fx", "jit", "onnx", "compiler", "testing", "ao"),
}
NOT_THE_PROGRAMS = {"torch.optim": "an optimizer's step", "torch.distributed.algorithms": "hooks of a backward"}


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _asks(function: ast.AST, names: set[str]) -> bool:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(isinstance(call, (ast.Attribute, ast.Name)) and _name(call) in names for call in calls)


def _name(call: ast.Attribute | ast.Name) -> str:
    return call.attr if isinstance(call, ast.Attribute) else call.id


def _askers(names: set[str], below: Path = TORCH) -> set[tuple[str, str]]:
    found = set()
    entries = [below] if below is not TORCH else [entry for entry in TORCH.iterdir() if entry.name not in BELOW]
    for path in chain.from_iterable([entry] if entry.suffix == ".py" else entry.rglob("*.py") for entry in entries):
        parts = path.relative_to(TORCH.parent).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in names):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        if not any(module.startswith(prefix) for prefix in NOT_THE_PROGRAMS):
            found |= {(module, name) for name, node in _functions(ast.parse(text)) if _asks(node, names)}
    return found


def test_every_place_that_asks_whether_it_is_compiled_is_decided() -> None:
    assert {(row.module, row.function) for row in BRANCHES} == _askers(ASKED)


def test_every_place_that_looks_for_modes_before_a_fused_kernel_is_decided() -> None:
    asking = _askers({"has_torch_function"}, TORCH / "nn" / "modules")
    assert {(row.module, row.function) for row in FUSED} == asking


def _notes(program: torch.nn.Module, *args: torch.Tensor, **kwargs: torch.Tensor) -> str:
    return " ".join(dynamo_lite.export(program, args, kwargs).notes)  # type: ignore[attr-defined]


def test_what_the_program_leaves_out_of_a_fast_path_is_noted() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder, x = torch.nn.TransformerEncoder(layer, 1).eval(), torch.randn(2, 5, 8)
    mask = torch.tensor([[False] * 5, [False] * 4 + [True]])
    assert "padded positions" not in _notes(encoder, x, src_key_padding_mask=mask)
    assert "padded positions" not in _notes(encoder.requires_grad_(False), x)
    assert "padded positions" in _notes(encoder, x, src_key_padding_mask=mask)
    assert "padded positions" not in _notes(encoder.train(), x, src_key_padding_mask=mask)


def test_parameters_of_a_distribution_are_asserted() -> None:
    """From torch 2.15 on the question decides it: an assertion of the program, where eager raises ValueError."""

    class Likelihood(torch.nn.Module):
        def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return torch.distributions.Normal(x, scale, validate_args=True).log_prob(x + 1)

    x = torch.zeros(3)
    program = dynamo_lite.export(Likelihood(), (x, torch.ones(3))).module()
    torch.testing.assert_close(program(x, 2 * torch.ones(3)), Likelihood()(x, 2 * torch.ones(3)))
    for wrong in ((x, -torch.ones(3)), (x * float("nan"), torch.ones(3))):
        with pytest.raises(ValueError, match="Expected parameter"):
            Likelihood()(*wrong)
        with pytest.raises(RuntimeError):
            program(*wrong)
