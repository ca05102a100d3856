"""The rules of capture/operator_rules against torch: the same operators on FakeTensors, under the recorder's modes."""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import dynamo_lite
from dynamo_lite.capture import recorder as recorders
from dynamo_lite.capture.fakes import known_results, results, static_cache
from dynamo_lite.capture.operator_rules import table
from dynamo_lite.errors import DynamoLiteError, InternalError
from tests.capture.rule_programs import KINDS, Draw

SAMPLES = 2
"""Of each operator of op_db that has a rule, floating-point numbers."""
DRAWS = 12


class Shadow:
    """Runs operators that a rule answers, and counts what agrees. `differ` has what a rule says otherwise."""

    def __init__(self) -> None:
        self.agree: set[Any] = set()
        self.differ: list[str] = []

    def check(self, func: Any, said: Any, args: Any, kwargs: Any, out: Any) -> None:
        found = results.recipe_of(args, kwargs, out)
        if found == said:
            self.agree.add(func)
        else:
            self.differ.append(f"{func}{args}{kwargs}: the rule says {said}, torch {found}")

    def run(self, call: Callable[[], Any]) -> None:
        """Calls an operator under a recorder of its own. What torch refuses the rules may not answer."""
        recorder = recorders.Recorder()
        run = recorder._run

        def watched(func: Any, args: Any, kwargs: Any) -> Any:
            try:
                return run(func, args, kwargs)
            except Exception as error:
                said = static_cache.key_of(func, args, kwargs) and table.result_of(func, args, kwargs)
                if said:
                    self.differ.append(f"{func}{args}{kwargs}: the rule says {said}, torch raises {error}")
                raise

        recorder._run = watched  # type: ignore[method-assign]
        static_cache.forget()
        try:
            with recorder:
                call()
        except (Exception, DynamoLiteError):
            return  # the operator's own refusal of the sample


@pytest.fixture
def shadow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shadow]:
    found = Shadow()
    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setattr(table, "check", found.check)
    logging.disable(logging.ERROR)  # FakeTensorMode logs what its kernels raise
    yield found
    logging.disable(logging.NOTSET)


def _samples(op: Any, dtype: torch.dtype) -> list[Any]:
    gradients = dtype is torch.float32 and op.supports_autograd
    try:
        return [*itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradients), SAMPLES)]
    except Exception:
        return []  # of torch's own making: a sample that this build cannot compute


WITH_RULES = {func.overloadpacket.__name__ for func in table.RULES}


def _may_have_rule(op: Any) -> bool:
    return bool({op.name.rpartition(".")[2], op.aten_name, *op.aliases} & WITH_RULES)


def test_rules_agree_on_the_samples_of_torch_s_own_tests(shadow: Shadow) -> None:
    for op in filter(_may_have_rule, op_db):
        for sample in _samples(op, torch.float32) if torch.float32 in op.dtypes else ():
            shadow.run(lambda op=op, sample=sample: op.op(sample.input, *sample.args, **sample.kwargs))
    assert not shadow.differ, "\n".join(shadow.differ[:10])
    assert len(shadow.agree) > 110


@pytest.mark.parametrize("kind", KINDS)
def test_rules_agree_on_random_layouts(kind: str, shadow: Shadow) -> None:
    for seed in range(DRAWS):
        draw = Draw(f"{kind} {seed}")

        def call(draw: Draw = draw) -> None:
            with torch.set_grad_enabled(draw.random() < 0.85):
                KINDS[kind](draw)

        shadow.run(call)
    assert not shadow.differ, "\n".join(shadow.differ[:10])
    assert shadow.agree


@pytest.mark.parametrize("func", table.RULES, ids=str)
def test_a_rule_has_the_parameters_of_its_operator(func: Any) -> None:
    parameters = inspect.signature(table.RULES[func]).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return  # all operators of one kind
    asked = {argument.name for argument in func._schema.arguments}
    required = {a.name for a in func._schema.arguments if not a.has_default_value()}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    positional = [a.name for a in func._schema.arguments if not a.kwarg_only]
    assert len(named) >= len(required) and (open_ended or len(named) == len(asked))
    order = [p.name for p in named if p.kind is not p.KEYWORD_ONLY]
    assert order == positional[: len(order)] or len(order) == len(positional)  # `input` of conv is positional only
    assert {p.name for p in named if p.kind is p.KEYWORD_ONLY} <= asked


def test_a_wrong_rule_is_found_in_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_lite.capture.operator_rules.operands import new

    monkeypatch.setattr(known_results, "SHADOW", True)
    monkeypatch.setitem(table.RULES, torch.ops.aten.relu.default, lambda self: new((7,), self.dtype))
    static_cache.forget()
    with pytest.raises(InternalError, match=r"the rule for aten\.relu\.default"):
        dynamo_lite.export(torch.nn.ReLU(), (torch.ones(3),))


class Norm(torch.nn.Module):
    """As language models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.add_(1).relu_()


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_first_export_writes_what_a_second_one_does(dynamic: bool) -> None:
    module, shapes = Norm(), ({0: torch.export.Dim.AUTO},) if dynamic else None
    static_cache.forget()
    rows = [
        [
            (node.name, str(node.meta.get("source_fn_stack")), node.meta.get("torch_fn"), str(node.meta.get("val")))
            for node in dynamo_lite.export(module, (torch.randn(3, 8),), dynamic_shapes=shapes).graph.nodes
        ]
        for _ in range(2)
    ]
    assert rows[0] == rows[1]
    assert all(stack != "None" for name, stack, *_ in rows[0] if name.startswith("mean"))
