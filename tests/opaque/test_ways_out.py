"""The three ways out of a call that a trace cannot look into, and torch's own marks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite import opaque
from dynamo_lite.errors import GraphBreak

X = torch.arange(3.0)
LIBRARY = ctypes.CDLL(None)
FOREIGN = LIBRARY.abs


@pytest.fixture(autouse=True)
def nothing_said() -> Iterator[None]:
    """What a test says does not outlive it."""
    before = dict(opaque.USER_ANNOTATIONS)
    yield
    opaque.USER_ANNOTATIONS.clear()
    opaque.USER_ANNOTATIONS.update(before)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * FOREIGN(-3)


def _same(fn: Callable[..., Any], *args: Any) -> None:
    program = dynamo_lite.export(fn, args).module()
    torch.testing.assert_close(program(*args), fn(*args))


def test_an_unknown_function_is_refused_and_the_ways_out_are_named() -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(scaled, (X,))
    assert caught.value.id == "opaque-call"
    text = str(caught.value)
    assert all(way in text for way in ("allow(fn, pure=True)", "assume_constant_result(fn)", "substitute(fn"))
    assert "CFuncPtr" in caught.value.what and "x * FOREIGN(-3)" in text


def test_an_allowed_function_is_called() -> None:
    dynamo_lite.allow(FOREIGN, pure=True)
    _same(scaled, X)


def test_only_what_is_pure_can_be_allowed() -> None:
    with pytest.raises(ValueError, match="pure=True"):
        dynamo_lite.allow(FOREIGN, pure=False)
    with pytest.raises(TypeError):
        dynamo_lite.allow(3, pure=True)  # type: ignore[type-var]


def test_an_allowed_python_function_runs_natively_and_its_operators_are_recorded() -> None:
    frames = []

    def helper(x: torch.Tensor) -> torch.Tensor:
        import sys

        frames.append(sys._getframe().f_code.co_name)
        return x.sin()

    dynamo_lite.allow(helper, pure=True)
    program = dynamo_lite.export(lambda x: helper(x) + 1, (X,))
    assert frames == ["helper"]
    assert next(n.target for n in program.graph.nodes if n.op == "call_function") is torch.ops.aten.sin.default


def test_a_constant_result_is_taken_at_export() -> None:
    calls = []

    def setting() -> int:
        calls.append(1)
        return 2 + len(calls)

    dynamo_lite.assume_constant_result(setting)
    program = dynamo_lite.export(lambda x: x * setting(), (X,))
    assert calls == [1]
    torch.testing.assert_close(program.module()(X), X * 3)
    assert any("assumed to be constant" in note for note in program.notes)  # type: ignore[attr-defined]


def test_a_constant_result_may_be_a_tensor() -> None:
    table = dynamo_lite.assume_constant_result(lambda: torch.ones(3) * 2)
    _same(lambda x: x + table(), X)


def test_a_constant_result_does_not_depend_on_what_the_program_computes() -> None:
    fn = dynamo_lite.assume_constant_result(lambda x: 3)
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(lambda x: x * fn(x + 1), (X,))
    assert caught.value.id == "data-dependent-value"


def test_torchs_own_mark_is_honoured() -> None:
    import random

    @torch.compiler.assume_constant_result
    def choice() -> float:
        return random.random()

    random.seed(0)
    want = random.random()
    random.seed(0)
    program = dynamo_lite.export(lambda x: x * choice(), (X,))
    torch.testing.assert_close(program.module()(X), X * want)


def test_a_substitute_is_traced_instead() -> None:
    def absolute(n: int) -> int:
        return n if n >= 0 else -n

    dynamo_lite.substitute(FOREIGN, absolute)
    _same(scaled, X)


def test_a_substitute_for_a_method_is_seen_on_every_instance() -> None:
    class Tokenizer:
        def size(self) -> int:
            raise AssertionError("not traced")

    dynamo_lite.substitute(Tokenizer.size, lambda self: 5)
    program = dynamo_lite.export(lambda x: x * Tokenizer().size(), (X,))
    torch.testing.assert_close(program.module()(X), X * 5)


def test_a_substitute_for_a_c_method() -> None:
    dynamo_lite.substitute(str.upper, lambda text: text + "!!")
    program = dynamo_lite.export(lambda x: x * len("abc".upper()), (X,))
    torch.testing.assert_close(program.module()(X), X * 5)


def test_what_was_said_can_be_taken_back() -> None:
    dynamo_lite.allow(FOREIGN, pure=True)
    opaque.forget(FOREIGN)
    with pytest.raises(GraphBreak):
        dynamo_lite.export(scaled, (X,))


def test_a_module_that_uses_all_three() -> None:
    class M(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * FOREIGN(-3) + offset() + slow(2)

    def offset() -> int:
        return 4

    def slow(n: int) -> int:
        return LIBRARY.labs(-n)  # type: ignore[no-any-return]

    dynamo_lite.allow(FOREIGN, pure=True)
    dynamo_lite.assume_constant_result(offset)
    dynamo_lite.substitute(slow, abs)
    _same(M(), X)


def test_what_torch_substitutes_in_graphs_is_traced_in_its_place() -> None:
    def absolute(n: int) -> Any:
        return FOREIGN(n)

    @torch.compiler.substitute_in_graph(absolute)
    def traceable(n: int) -> Any:
        return -n if n < 0 else n

    for called in (absolute, traceable):  # what the decorator returns calls the original in eager
        program = dynamo_lite.export(lambda x, called=called: x * called(-3), (X,))
        torch.testing.assert_close(program.module()(X), X * 3)
        assert any("was traced in the place of" in note for note in program.notes)  # type: ignore[attr-defined]
    with pytest.raises(GraphBreak):
        dynamo_lite.export(scaled, (X,))  # the function below it is as unknown as before


def test_torchs_own_substitutes_of_builtins_are_not_used() -> None:
    import torch._dynamo.polyfills.loader

    program = dynamo_lite.export(lambda x: x * sum([1, 2]) * any([0, 1]), (X,))
    torch.testing.assert_close(program.module()(X), X * 3)
    assert not any("was traced in the place of" in note for note in program.notes)  # type: ignore[attr-defined]


@torch.compiler.assume_constant_result
def _number(y: torch.Tensor) -> int:
    return int(y.sum().item())


def test_a_constant_result_of_an_input_is_the_examples() -> None:
    y = torch.tensor([1, 2])
    program = dynamo_lite.export(lambda x, y: x * _number(y), (torch.ones(2), y))
    assert torch.equal(program.module()(torch.ones(2), y), torch.full((2,), 3.0))


def _through_a_view(y: torch.Tensor) -> torch.Tensor:
    y[:1].add_(1)
    return y


@pytest.mark.parametrize("change", [lambda y: y.add_(1), lambda y: y + 1, lambda y: y[:1], _through_a_view])
def test_a_constant_result_of_what_is_computed_is_refused(change: Any) -> None:
    with pytest.raises(GraphBreak):
        dynamo_lite.export(lambda x, y: x * _number(change(y)), (torch.ones(2), torch.tensor([1, 2])))
