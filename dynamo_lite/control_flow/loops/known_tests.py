"""The test of a `while` loop holds in its iterations, in each form in which the program has its value.

`while c: x.sum(0, keepdim=c); c = bool(...)`: an operator wants `keepdim` constant, and in an iteration `c` is True.
That is so of a value that the loop leaves as it is, if the first test is made of it, and of a carried one, if that is
the tested value before the loop and after each iteration. `carried` and `found` are values of carried.py.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.may_share import version_of
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.expressions.relations import and_, ge, not_
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def tested(tracer: Forking, carried: Any, predicate: Any, goes_if: bool) -> list[int]:
    """Return which carried values are the test, before the loop (`predicate`) and after the iteration.

    goes_if: the truth of the predicate with which there is a first iteration.
    """
    goes = carried.goes
    if goes.raw is None or goes.goes_if is not goes_if:
        return []
    pairs = carried.merge.pairs
    return [
        index
        for index, pair in enumerate(pairs)
        if pair.growth is None
        and is_test(tracer, pair.left, predicate)
        and is_test(tracer, pair.right, goes.raw)
        and _is_fixed(carried, pair.left)
        and _is_fixed(carried, pair.right)
    ]


def are_tested(tracer: Forking, carried: Any, found: Any) -> bool:
    """Whether those values are the test after another iteration, too."""
    goes = found.goes
    is_turned = goes.raw is None or (bool(carried.tests) and goes.goes_if is not carried.goes.goes_if)
    return not carried.tests or (
        not is_turned and all(is_test(tracer, found.outputs[index], goes.raw) for index in carried.tests)
    )


def assumed(loop: Any, knows_first: bool) -> Any:
    """Return the assumption of an iteration: the loop is not empty. knows_first: its first test holds, too."""
    env, parts = loop.tracer.recorder.env, []
    if env is None:
        return None
    if loop.number is not None and type(loop.number.of.count) is torch.SymInt:
        parts.append(ge(env.unwrap(loop.number.of.count), 1))
    condition = loop.tracer.predicates.condition(loop.predicate) if knows_first else None
    if condition is not None:
        parts.append(condition if loop.goes_if else not_(condition))
    return and_(*parts) if parts else None


def note_tensor(tracer: Forking, value: Any, truth: bool) -> None:
    """Note the truth of a tensor until it is changed in place; `DataLoop` takes that back."""
    if is_tensor(value):
        tracer.known.append((value, truth, version_of(value)))


def assume(tracer: Forking, values: list[Any], truth: bool) -> None:
    """Assume the truth of values within the side that is run: `run_side` and `DataLoop` take that back."""
    env = tracer.recorder.env
    for value in values:
        note_tensor(tracer, value, truth)
        if env is not None and (condition := tracer.predicates.condition(value)) is not None:
            relation = condition if truth else not_(condition)
            env.core.assume(relation, Origin("user line", note="the test of a loop"), "axiom")


def is_test(tracer: Forking, value: Any, test: Any) -> bool:
    """Whether the truth of `value` is that of `test`, as a tensor or a symbolic number."""
    if value is test:
        return is_tensor(value) or type(value) in SYMBOLIC
    if not all(is_tensor(one) or type(one) in SYMBOLIC for one in (value, test)):
        return False
    fake, condition_of = tracer.recorder.known_fake, tracer.predicates.condition
    one, other = (fake(v) if is_tensor(v) else condition_of(v) for v in (value, test))
    if is_tensor(one) is not is_tensor(other):
        tensor, condition = (one, other) if is_tensor(one) else (other, one)
        return tracer.predicates.held(condition) is tensor
    return one is other and one is not None


def is_changed(predicate: Any, carried: Any) -> bool:
    """Whether iterations change the tensor in place of which the first test is."""
    keys = [storage_key(tensor) for tensor in carried.inplace]
    return is_tensor(predicate) and storage_key(predicate) in keys


def _is_fixed(carried: Any, value: Any) -> bool:
    """Whether an iteration changes no tensor in place that holds the value."""
    return not is_tensor(value) or storage_key(value) not in carried.side.level.changed
