"""What withheld_errors.py does not ask eager for (views, sizes of elementwise operators), compared with eager."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db

import dynamo_lite
from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.capture.kernels import eager_errors
from dynamo_lite.capture.operator_rules import table
from dynamo_lite.capture.recorder import Recorder

SAMPLES = 1
"""Of each operator and dtype; its samples of errors besides."""
DTYPES = (torch.float32, torch.int64)


def _samples(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    if dtype in op.dtypes:
        yield from itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES)
    if op.error_inputs_func is not None and dtype is torch.float32:
        yield from (error.sample_input for error in op.error_inputs("cpu"))


def _asked(names: set[str], operators: frozenset[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """The calls of these operators that the samples make and a rule answers."""
    found: list[tuple[Any, Any, Any]] = []

    class Watched(Recorder):
        def operator(self, func: Any, args: Any, kwargs: Any) -> Any:
            fakes = [self.fake(value) for value in args]
            if func in operators and static_cache.key_of(func, fakes, kwargs) and table.result_of(func, fakes, kwargs):
                found.append((func, fakes, kwargs))
            return super().operator(func, args, kwargs)

    for op in op_db:
        if not {op.name.rpartition(".")[2], op.aten_name, *op.aliases} & names:
            continue
        for sample in itertools.chain(*(_samples(op, dtype) for dtype in DTYPES)):
            try:
                with Watched():
                    op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue  # what torch refuses, and a sample that is no tensor
    yield from found


def _names(operators: frozenset[Any]) -> set[str]:
    return {func.overloadpacket.__name__ for func in operators}


def _raised(func: Any, args: Any, kwargs: Any) -> type[Exception] | None:
    error = eager_errors.raised_on(0, func, args, kwargs)
    return None if error is None else type(error)


def test_eager_makes_each_view_that_a_rule_says() -> None:
    seen = set()
    for func, args, kwargs in _asked(_names(table.VIEWS), table.VIEWS):
        seen.add(func)
        assert _raised(func, args, kwargs) is None, (func, args, kwargs)
    assert len(seen) > 14


def _of_one_element(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value.as_strided((1,) * value.ndim, (1,) * value.ndim, 0)) if value.ndim else value
    return value


def test_elementwise_kernels_do_not_go_by_sizes() -> None:
    seen = set()
    for func, args, kwargs in _asked(_names(table.ELEMENTWISE), table.ELEMENTWISE):
        seen.add(func)
        with args[0].fake_mode if hasattr(args[0], "fake_mode") else pytest.MonkeyPatch.context():
            small = [_of_one_element(value) for value in args]
        assert _raised(func, args, kwargs) is _raised(func, small, kwargs), (func, args, kwargs)
    assert len(seen) > 50


class InExcept(nn.Module):
    """GELU has no kernel for integers: eager goes the handler's way."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return F.gelu(x)
        except RuntimeError:
            return x + 1


class InFinally(nn.Module):
    """Nothing catches the error: it is the program's, as it is without `try`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = []
        try:
            return F.gelu(x)
        finally:
            steps.append("done")


@pytest.mark.parametrize(("cls", "asks"), [(InExcept, True), (InFinally, False)])
def test_kernels_are_asked_only_where_an_error_would_be_caught(
    cls: type[nn.Module], asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    kernel = eager_errors.raised_on
    monkeypatch.setattr(eager_errors, "raised_on", lambda *args: asked.append(args) or kernel(*args))
    integers = torch.ones(3, dtype=torch.int64)
    program = dynamo_lite.export(cls(), (integers,)).module()
    assert bool(asked) is asks
    try:
        expected = cls()(integers)
    except NotImplementedError as error:
        with pytest.raises(NotImplementedError, match=re.escape(str(error))):
            program(integers)
    else:
        assert torch.equal(program(integers), expected)
