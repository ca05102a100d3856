"""One program written in several ways: with `if`, with torch.cond by hand, with the sides swapped and the test negated.

The programs are made at random: assignments and branches in one another over three tensors.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite

_NAMES = ("a", "b", "c")
_VALUES = ("{0} + 1", "{0} * 0.5", "{0} - {1}", "{0}.sin()", "torch.maximum({0}, {1})", "{0} * {1}.sum()")
_TESTS = ("{0}.sum() > {2}", "{0}.mean() < {1}.mean()", "{0}.max() - {1}.min() > {2}")
_MAX_DEPTH = 3

Block = list[Any]
"""Statements: (name, value), or (test, block, block)."""


def _block(rng: random.Random, depth: int) -> Block:
    return [_statement(rng, depth) for _ in range(rng.randint(1, 3))]


def _statement(rng: random.Random, depth: int) -> tuple[Any, ...]:
    one, other = rng.choice(_NAMES), rng.choice(_NAMES)
    if depth < _MAX_DEPTH and rng.random() < 0.5:
        test = rng.choice(_TESTS).format(one, other, rng.randint(-2, 2))
        return test, _block(rng, depth + 1), _block(rng, depth + 1) if rng.random() < 0.8 else []
    return rng.choice(_NAMES), rng.choice(_VALUES).format(one, other)


def as_written(block: Block, swapped: bool, indent: str = "    ") -> Iterator[str]:
    """Lines with `if`; `swapped`: `if not (test)`, with what stood behind `else` first."""
    for statement in block:
        if len(statement) == 2:
            yield f"{indent}{statement[0]} = {statement[1]}"
            continue
        test, left, right = statement
        first, second = (right, left) if swapped else (left, right)
        yield f"{indent}if {f'not ({test})' if swapped else test}:"
        yield from as_written(first, swapped, indent + "    ") if first else [indent + "    pass"]
        yield f"{indent}else:"
        yield from as_written(second, swapped, indent + "    ") if second else [indent + "    pass"]


def by_hand(block: Block, indent: str = "    ") -> Iterator[str]:
    """Lines with torch.cond; a side returns all three tensors, those that it leaves alone as copies."""
    for statement in block:
        if len(statement) == 2:
            yield f"{indent}{statement[0]} = {statement[1]}"
            continue
        for name, side in zip(("left", "right"), statement[1:]):
            yield f"{indent}def {name}(a, b, c):"
            yield from by_hand(side, indent + "    ")
            yield f"{indent}    return a.clone(), b.clone(), c.clone()"
        yield f"{indent}a, b, c = torch.cond({statement[0]}, left, right, (a, b, c))"


def module_of(lines: Iterator[str]) -> nn.Module:
    text = "\n".join(["def forward(self, a, b):", "    c = a - b", *lines, "    return a, b, c"])
    space: dict[str, Any] = {"torch": torch}
    exec(compile(text, "<metamorphic program>", "exec"), space)
    made: nn.Module = type("Module", (nn.Module,), {"forward": space["forward"]})()
    return made


def calls() -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)

    def made(scale: float, offset: float) -> torch.Tensor:
        return torch.randn(2, 3, generator=generator) * scale + offset

    return [(made(scale, 0), made(1, scale - 2)) for scale in range(6)]


def program_of(module: nn.Module, mode: str) -> torch.export.ExportedProgram:
    return dynamo_lite.export(module, calls()[1], control_flow=mode)


@pytest.mark.parametrize("seed", range(25))
def test_all_ways_of_writing_a_program_equal_eager(seed: int) -> None:
    last = "a.sum() > b.sum()", [("c", "a + b")], [("a", "c * 2"), ("b", "a.cos()")]
    block = [*_block(random.Random(seed), 0), last]
    ways = {
        "if": (module_of(as_written(block, swapped=False)), "capture"),
        "if not": (module_of(as_written(block, swapped=True)), "capture"),
        "torch.cond": (module_of(by_hand(block)), "refuse"),
    }
    eager = ways["if"][0]
    for name, (module, mode) in ways.items():
        program = program_of(module, mode)
        assert any(node.target is torch.ops.higher_order.cond for node in program.graph.nodes), name
        run = program.module()
        for call in calls():
            for got, expected in zip(run(*call), eager(*call), strict=True):
                torch.testing.assert_close(got, expected, msg=f"{name}: {got} and {expected}")


@pytest.mark.parametrize("seed", range(10))
def test_swapped_sides_and_a_negated_test_are_the_same_program(seed: int) -> None:
    block = [("a.sum() > b.sum()", _block(random.Random(seed), 1), _block(random.Random(-seed - 1), 1))]
    programs = [program_of(module_of(as_written(block, swapped)), "capture") for swapped in (False, True)]
    texts = [[part.code for part in program.graph_module.modules() if hasattr(part, "code")] for program in programs]
    assert texts[0] == texts[1]
