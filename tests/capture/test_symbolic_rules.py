"""The rules of capture/operator_rules on symbolic sizes, and those for in-place operators, against torch.

Programs are exported in shadow mode: operators that a rule answers run too. What a rule says must be what torch gives,
expression by expression, and torch must have needed no fact for it that the rule did not demand.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.capture import recorder as recorders
from dynamo_lite.capture.fakes import known_results, static_cache
from dynamo_lite.capture.operator_rules import in_place, table
from dynamo_lite.capture.operator_rules.operands import new
from dynamo_lite.capture.operator_rules.sizes import Size
from dynamo_lite.errors import DynamoLiteError, InternalError

SAMPLES = 2
AUTO = torch.export.Dim.AUTO


class Program(nn.Module):
    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self._run = run

    def forward(self, tensors: list[torch.Tensor]) -> Any:
        return self._run(tensors)


class Shadow:
    """Exports programs with all sizes dynamic; counts which rules agree, and keeps what differs."""

    def __init__(self) -> None:
        self.agree: set[Any] = set()
        self.differ: list[str] = []
        self._check, self._check_changed = table.check, table.check_changed

    def check(self, func: Any, said: Any, args: Any, kwargs: Any, out: Any, env: Any = None, facts: int = 0) -> None:
        self._compare(func, self._check, func, said, args, kwargs, out, env, facts)

    def check_changed(self, func: Any, args: Any, before: Any, out: Any) -> None:
        self._compare(func, self._check_changed, func, args, before, out)

    def _compare(self, func: Any, check: Callable[..., None], *call: Any) -> None:
        try:
            check(*call)
            self.agree.add(func)
        except InternalError as error:
            self.differ.append(str(error))

    def run(self, run: Callable[..., Any], tensors: list[torch.Tensor]) -> None:
        static_cache.forget()
        shapes = {"tensors": [dict.fromkeys(range(t.dim()), AUTO) for t in tensors]}
        try:
            dynamo_lite.export(Program(run), (tensors,), dynamic_shapes=shapes)
        except (Exception, DynamoLiteError):
            return  # what the operator or export refuses of the sample


@pytest.fixture
def shadow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shadow]:
    found = Shadow()
    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setattr(table, "check", found.check)
    monkeypatch.setattr(table, "check_changed", found.check_changed)
    logging.disable(logging.ERROR)  # FakeTensorMode logs what its kernels raise
    yield found
    logging.disable(logging.NOTSET)


def _programs(op: Any, call: Callable[..., Any]) -> Iterator[tuple[Callable[..., Any], list[torch.Tensor]]]:
    """Samples of torch's own tests, their tensors as inputs of a program."""
    try:
        samples = [*itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), SAMPLES)]
    except Exception:
        return  # of torch's own making: a sample that this build cannot compute
    for sample in samples:
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def run(tensors: Any, leaves: Any = leaves, spec: Any = spec, places: Any = places) -> Any:
            given = list(leaves)
            for place, tensor in zip(places, tensors):
                given[place] = tensor
            args, kwargs = pytree.tree_unflatten(given, spec)
            return call(*args, **kwargs)

        yield run, [leaves[place] for place in places]


WITH_RULES = {func.overloadpacket.__name__ for func in table.RULES}


def _may_have_rule(op: Any) -> bool:
    return bool({op.name.rpartition(".")[2], op.aten_name, *op.aliases} & WITH_RULES)


@pytest.mark.parametrize("part", range(4))
def test_rules_on_symbolic_sizes_agree_on_torch_s_own_samples(part: int, shadow: Shadow) -> None:
    for op in [*filter(_may_have_rule, op_db)][part::4]:
        for run, tensors in _programs(op, op.op) if torch.float32 in op.dtypes else ():
            shadow.run(run, tensors)
    assert not shadow.differ, "\n".join(shadow.differ[:10])
    assert len(shadow.agree) > 15


def test_in_place_rules_agree_on_torch_s_own_samples(shadow: Shadow) -> None:
    names = {func.overloadpacket.__name__.strip("_") for func in in_place.RULES}
    for op in op_db:
        if op.inplace_variant is None or op.aten_name.strip("_") not in names:
            continue

        def call(self: Any, *args: Any, op: Any = op, **kwargs: Any) -> Any:
            return op.inplace_variant(self.clone(), *args, **kwargs)

        for run, tensors in _programs(op, call):
            shadow.run(run, tensors)
    assert not shadow.differ, "\n".join(shadow.differ[:10])
    assert len(shadow.agree & in_place.RULES.keys()) > 20


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.transpose(0, 1),
    "behind a new dimension": lambda x: x.unsqueeze(0),
    "without its end": lambda x: x[..., :2],
    "every element of a row": lambda x: x[:, 0:],
    "of one row": lambda x: x[:1],
    "expanded": lambda x: x[:1].expand_as(x),
    "joined": lambda x: x.flatten(),
}
OPERATORS: dict[str, Callable[[torch.Tensor], Any]] = {
    "cos": torch.cos,
    "add": lambda x: x + x,
    "add to a row": lambda x: x + x[:1],
    "outer product": lambda x: x.unsqueeze(0) * x.unsqueeze(-2),
    "contiguous": lambda x: x.contiguous(),
    "cast": lambda x: x.to(torch.int64),
    "view": lambda x: x.reshape(-1),
    "split up": lambda x: x.reshape(*x.shape[:-1], 2, -1),
    "cat": lambda x: torch.cat([x, x], 0),
    "stack": lambda x: torch.stack([x, x], -1),
    "sum": lambda x: x.sum(0, keepdim=True),
    "amax": lambda x: x.amax(-1),
    "softmax": lambda x: x.softmax(-1),
    "matmul": lambda x: x @ x.transpose(-1, -2),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "group norm": lambda x: torch.nn.functional.group_norm(x, 1) if x.dim() > 1 else x,
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5),
    "lengths": lambda x: (x.norm(dim=-1), x.norm(float("inf"), dim=0)),
    "indexed": lambda x: x[torch.arange(x.shape[0]).unsqueeze(1), torch.arange(2)] if x.dim() > 1 else x,
    "masked by its triangle": lambda x: x.new_ones(x.shape[-1:]).bool() & (x > 0),
    "joined with a constant": lambda x: torch.cat([torch.tensor([0.0]), x.flatten()]),
    "last element": lambda x: x[..., -1],
    "first elements": lambda x: x[..., :3],
    "counted": lambda x: torch.arange(x.shape[0]) + x.shape[-1],
    "zeros": lambda x: x.new_zeros(x.shape),
    "in place": lambda x: x.clone().mul_(x).add_(2),
    "in place by a row": lambda x: x.clone().sub_(x[:1]),
    "filled": lambda x: torch.empty_like(x).fill_(1).masked_fill_(x > 0, 2.0).copy_(x),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_rules_on_symbolic_sizes_agree_on_layouts(operator: str, shadow: Shadow) -> None:
    for layout in LAYOUTS.values():
        for sizes in ((4, 6), (3, 4, 6)):
            shadow.run(lambda tensors, layout=layout: OPERATORS[operator](layout(tensors[0])), [torch.randn(sizes)])
    assert not shadow.differ, "\n".join(shadow.differ[:10])
    assert shadow.agree


def test_a_wrong_rule_on_symbolic_sizes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setitem(table.RULES, torch.ops.aten.relu.default, lambda self: new((self.shape[0] * 2,), self.dtype))
    with pytest.raises(InternalError, match=r"the rule for aten\.relu\.default"):
        dynamo_lite.export(nn.ReLU(), (torch.ones(3),), dynamic_shapes=({0: AUTO},))


def test_a_rule_that_needs_no_fact_where_torch_does_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def amax(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
        return new(self.shape[1:], self.dtype)

    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setitem(table.RULES, torch.ops.aten.amax.default, amax)
    with pytest.raises(InternalError, match="torch demands"):
        dynamo_lite.export(Program(lambda t: t[0].amax(0)), ([torch.ones(3, 4)],),
                           dynamic_shapes=([{0: AUTO, 1: AUTO}],))  # fmt: skip


def test_in_place_operators_need_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    run = recorders.Recorder._run

    def noted(self: Any, func: Any, args: Any, kwargs: Any) -> Any:
        ran.append(str(func))
        return run(self, func, args, kwargs)

    monkeypatch.setattr(recorders.Recorder, "_run", noted)
    program = dynamo_lite.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)), (torch.ones(3, 4),),
                                 dynamic_shapes=({0: AUTO},))  # fmt: skip
    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert targets[-1] is torch.ops.aten.relu_.default
    assert not ran


def test_a_size_answers_only_what_follows_from_the_facts() -> None:
    from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

    env = TorchShapeEnv()
    node = env.core.backed(5, lo=0)
    size, other = Size(env, node), Size(env, env.core.backed(5, lo=0))
    from dynamo_lite.capture.operator_rules.sizes import Undecided

    assert size == Size(env, node) and size != -1 and size >= 0 and size + 1 > 0 and 2 * size - size == size
    questions = (lambda: size == 0, lambda: size == 5, lambda: size > 3, lambda: size // size, lambda: bool(size))
    for question in (*questions, lambda: size == other, lambda: size > other):
        with pytest.raises(Undecided):
            question()


def test_an_operand_that_shares_memory_with_what_is_changed_is_left_to_torch() -> None:
    def program(tensors: list[torch.Tensor]) -> torch.Tensor:
        x = tensors[0] * 2
        return x.add_(x.t())

    for shapes in (None, ([{0: AUTO, 1: AUTO}],)):
        with pytest.raises(RuntimeError, match="single memory location"):
            program([torch.ones(3, 3)])
        with pytest.raises(RuntimeError, match="single memory location"):
            dynamo_lite.export(Program(program), ([torch.ones(3, 3)],), dynamic_shapes=shapes)
