"""Programs on symbolic tensors: for every size that the facts admit, eager's result has the shape that was predicted.

Kernels get some answers about sizes 0 and 1 without a fact (env.py): this is the test of it. Sizes from 1 to 4
are tried exhaustively: each program runs at sizes where broadcasting, layout and squeezing differ from the example.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch._dispatch.python import enable_python_dispatcher
from torch.overrides import TorchFunctionMode

from dynamo_lite.symbolic_shapes import evaluate
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor

Tensor = torch.Tensor
STEPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y,
    "add one row": lambda x, y: x + y[:1],
    "outer": lambda x, y: x.unsqueeze(-1) * y.reshape(-1),
    "transpose": lambda x, y: x.transpose(0, -1),
    "contiguous": lambda x, y: x.transpose(0, -1).contiguous(),
    "flatten": lambda x, y: x.reshape(-1),
    "view by size": lambda x, y: x.reshape(x.shape[0], -1),
    "flatten a transposed": lambda x, y: x.transpose(0, -1).reshape(-1, 1),
    "matmul": lambda x, y: x.reshape(-1, x.shape[-1]) @ x.reshape(-1, x.shape[-1]).t(),
    "cat": lambda x, y: torch.cat([x, x], 0),
    "cat with another": lambda x, y: torch.cat([x.reshape(-1), y.reshape(-1)]),
    "stack": lambda x, y: torch.stack([x, x], -1),
    "squeeze": lambda x, y: x.squeeze(),
    "squeeze one": lambda x, y: x.squeeze(0),
    "unsqueeze": lambda x, y: x.unsqueeze(0),
    "sum": lambda x, y: x.sum(-1, keepdim=True),
    "reduce": lambda x, y: x.reshape(-1, x.shape[-1]).amax(0),
    "slice": lambda x, y: x[1:],
    "slice two": lambda x, y: x[:2],
    "stride": lambda x, y: x[::2],
    "last": lambda x, y: x[..., -1:],
    "expand": lambda x, y: x.unsqueeze(0).expand(y.shape[0], *x.shape),
    "pad": lambda x, y: F.pad(x, (1, 2)),
    "softmax": lambda x, y: x.softmax(-1),
    "repeat": lambda x, y: x.repeat(*[2] * x.dim()),
    "half": lambda x, y: x.reshape(-1)[: x.numel() // 2],
    "branch": lambda x, y: x + 1 if x.shape[0] > 2 else x.reshape(-1),
    "branch on layout": lambda x, y: x.reshape(-1) if x.is_contiguous() else x,
    "where": lambda x, y: torch.where(x > 0, x, x.new_zeros(())),
    "arange": lambda x, y: torch.arange(x.shape[0]) + x.shape[-1],
    "roll": lambda x, y: torch.roll(x, 1, 0),
    "unbind": lambda x, y: x.reshape(-1, 1).split(1, 1)[0],
    "other": lambda x, y: y,
    "clone": lambda x, y: x.clone(),
    "to channels last": lambda x, y: x.reshape(1, -1, x.shape[-1], 1).contiguous(memory_format=torch.channels_last),
    "conv": lambda x, y: F.conv1d(x.reshape(-1, 1, x.shape[-1]), torch.ones(2, 1, 1)),
    "pool": lambda x, y: F.adaptive_avg_pool1d(x.reshape(1, -1, x.shape[-1]), 2),
    "layer norm": lambda x, y: F.layer_norm(x, x.shape[-1:]),
}
INEXACT = (RuntimeError, ValueError, IndexError)
"""What an operator raises for sizes it does not take: a program that raises is not one that is silently wrong."""


class NamedOperators(TorchFunctionMode):
    """Tells the environment which operator runs, composite ones too, as a tracer at the PreDispatch key can."""

    def __init__(self, env: TorchShapeEnv) -> None:
        super().__init__()
        self._env = env

    def __torch_function__(self, func, types, args=(), kwargs=None):
        packet = getattr(torch.ops.aten, func.__name__, None)
        with self._env.inside_operator(getattr(packet, packet.overloads()[0]) if packet else None):
            return func(*args, **kwargs or {})


def run(steps: list[str], x: Tensor, y: Tensor) -> list[Tensor]:
    results = [x]
    for step in steps:
        results.append(STEPS[step](results[-1] if results[-1].dim() else results[-1].reshape(1), y).to(torch.float32))
    return results


def _holds(relation: Any, values: Any) -> bool:
    """Whether a guard admits these sizes; one that divides by zero does not."""
    try:
        return bool(evaluate(relation, values))
    except ZeroDivisionError:
        return False


def check(steps: list[str], example: tuple[int, int, int]) -> int:
    """Returns for how many sizes the prediction was compared."""
    env = TorchShapeEnv()
    mode = fake_mode(env, allow_non_fake_inputs=True)
    a, b, c = example
    x = create_symbolic_tensor(mode, torch.ones(a, b), [Fresh(), Fresh()])
    y = create_symbolic_tensor(mode, torch.ones(c, b), [Fresh(), env.unwrap(x.shape[1])])
    symbols = [env.unwrap(s).as_atom() for s in (x.shape[0], x.shape[1], y.shape[0])]  # before a guard fixes one
    try:
        with mode, enable_python_dispatcher(), NamedOperators(env):
            predicted = run(steps, x, y)
    except INEXACT:
        return 0
    compared = 0
    for sizes in itertools.product(range(1, 5), repeat=3):
        values = dict(zip(symbols, sizes))
        if not all(_holds(fact.relation, values) for fact in env.core.facts):
            continue
        try:
            real = run(steps, torch.ones(sizes[0], sizes[1]), torch.ones(sizes[2], sizes[1]))
        except INEXACT:
            continue
        for step, fake, eager in zip(["input", *steps], predicted, real):
            shape = tuple(evaluate(env.unwrap(s), values) for s in fake.shape)
            assert shape == tuple(eager.shape), f"{step} of {steps} at {sizes}, example {example}: {env.core.facts}"
        compared += 1
    return compared


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("example", [(3, 4, 2), (1, 4, 1), (4, 1, 3)])
def test_each_step(step: str, example: tuple[int, int, int]) -> None:
    assert check([step], example) >= 1 or step == "add"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=5), st.tuples(*[st.integers(1, 4)] * 3))
def test_programs(steps: list[str], example: tuple[int, int, int]) -> None:
    check(steps, example)


def test_the_example_is_always_admitted() -> None:
    assert check(["transpose", "contiguous", "flatten", "half"], (3, 4, 2)) >= 1


def test_sizes_of_one_stay_admitted_where_nothing_depends_on_them() -> None:
    for steps in (["add one row", "softmax", "transpose", "flatten"], ["matmul", "sum"],
                  ["contiguous", "layer norm", "pad"],
                  ["cat", "stack", "view by size"], ["flatten a transposed", "expand", "clone"]):
        env = TorchShapeEnv()
        mode = fake_mode(env)
        x = create_symbolic_tensor(mode, torch.ones(3, 4), [Fresh(), Fresh()])
        with mode, enable_python_dispatcher(), NamedOperators(env):
            run(steps, x, x)
        ones = dict.fromkeys(env.core.symbols.values(), 1)
        assert all(evaluate(fact.relation, ones) for fact in env.core.facts), env.core.facts
