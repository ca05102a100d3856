"""What an export notes about a program that it exported."""

from __future__ import annotations

import torch

import dynamo_lite


class AsksWhetherItIsTraced(torch.nn.Module):
    """Another answer during export, as in a transformers model whose mask-skipping is off while tracing (AIMv2)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() if torch.compiler.is_compiling() else x.cos()


def test_a_program_that_asks_whether_it_is_traced_is_noted_with_its_line() -> None:
    program = dynamo_lite.export(AsksWhetherItIsTraced(), (torch.randn(3),))
    ((text, where),) = program.notes.items()  # type: ignore[attr-defined]
    assert "torch.compiler.is_compiling" in text and "eager may go another way" in text
    assert where[-1].filename == __file__


def test_a_program_that_does_not_ask_has_no_notes() -> None:
    program = dynamo_lite.export(torch.nn.Linear(3, 3), (torch.randn(2, 3),))
    assert program.notes == {}  # type: ignore[attr-defined]
