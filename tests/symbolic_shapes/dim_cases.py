"""Shared by the tests of Dim specs: a traced run is a list of questions about the sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv
from dynamo_lite.symbolic_shapes.dims.symbols import InputDim, declare
from dynamo_lite.symbolic_shapes.dims.violations import Solution, solve
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE, Bool

Questions = Callable[..., Sequence[Bool]]


def input_dims(hints: Sequence[int], specs: Sequence[Any]) -> list[InputDim]:
    """One dimension for each hint, the first of the inputs x0, x1, ..."""
    return [InputDim(f"L['x{i}'].size()[0]", hint, spec, f"x{i}.shape[0]", f"dynamic_shapes['x{i}'][0]")
            for i, (hint, spec) in enumerate(zip(hints, specs))]


def trace(hints: Sequence[int], specs: Sequence[Any], questions: Questions) -> Solution:
    """Declare the dimensions, ask the questions (all true at the hints), solve."""
    env = ShapeEnv()
    table = declare(env, input_dims(hints, specs))
    for line, question in enumerate(questions(*table.sizes), start=1):
        if question is not TRUE:
            assert env.evaluate(question, Origin("user line", "model.py", line, f"question {line}")), question
    solution = solve(table, env.facts)
    solution.guard_set.verify()
    return solution
