"""Generated programs: conds, loops and transforms in each other, over everything that was computed before them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hops.cond_programs import BOTH, Base
from tests.hops.harness import assert_same, exported
from tests.hops.loop_programs import Program

# A program is a list of steps; a step computes a 3x3 tensor from the tensors before it, by number modulo their count.
_simple = st.tuples(st.sampled_from(["add", "mul", "sin", "state"]), st.integers(0, 9), st.integers(0, 9))


def _nested(steps: Any) -> Any:
    body = st.lists(steps, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("cond"), st.integers(0, 9), body, body),
        st.tuples(st.just("scan"), st.integers(0, 9), body),
        st.tuples(st.just("grad"), st.integers(0, 9), body),
        st.tuples(st.just("vmap"), st.integers(0, 9), body),
    )


_step = st.recursive(_simple, lambda inner: st.one_of(inner, _nested(_simple)), max_leaves=4)


def _run(module: Base, steps: list[Any], values: list[torch.Tensor]) -> torch.Tensor:
    values = list(values)
    for step in steps:
        values.append(_take(module, step, values))
    return values[-1]


def _take(module: Base, step: Any, values: list[torch.Tensor]) -> torch.Tensor:
    kind, x = step[0], values[step[1] % len(values)]
    if kind == "add":
        return x + values[step[2] % len(values)]
    if kind == "mul":
        return x * values[step[2] % len(values)].sigmoid()
    if kind == "sin":
        return x.sin() + step[2]
    if kind == "state":
        return module.linear(x) * module.scale
    if kind == "cond":
        branches = [lambda u, body=body: _run(module, body, [*values, u]) * 1 for body in step[2:]]
        return torch.cond(x.mean() > 0.25, *branches, (x,))
    if kind == "grad":
        return torch.func.grad(lambda u: _run(module, step[2], [*values, u]).sum())(x)
    if kind == "vmap":  # over rows; what was computed before is closed over
        return torch.vmap(lambda row: _run(module, step[2], [*values, row + x[0]]).reshape(-1, 3).mean(0))(x)
    carry, ys = torch._higher_order_ops.scan(
        lambda c, row: (c * 0.5 + row, _run(module, step[2], [*values, c + x]).mean(0)), torch.zeros(3), x
    )
    return ys + carry


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_step, min_size=1, max_size=4))
def test_equals_eager(steps: list[Any]) -> None:
    _equals_eager(steps)


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_step, min_size=1, max_size=4))
def test_many_equal_eager(steps: list[Any]) -> None:
    _equals_eager(steps)


def _equals_eager(steps: list[Any]) -> None:
    forward = {"forward": lambda self, x: _run(self, steps, [x])}
    program = Program("generated", type("M", (Base,), forward), BOTH)
    if any(step[0] in ("grad", "vmap") and _has(step, "scan", "cond") for step in steps):
        return  # control flow inside of a transform is refused (test_transforms.py)
    module, ep = exported(program)
    for call in BOTH:
        assert_same(module, ep.module(), call, gradients=False)


def _has(step: Any, *kinds: str) -> bool:
    return isinstance(step, (tuple, list)) and (step[0] in kinds or any(_has(s, *kinds) for s in step[1:] if s))
