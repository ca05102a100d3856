"""Programs refuse the sizes that they were not exported for, in words; and admit all others. The oracle is eager."""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.export import Dim, ExportedProgram

import dynamo_lite
from dynamo_lite.program import InputMismatch
from tests.dynamic.bridge_programs import AUTO, Oracle


class _Fn(torch.nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: Any, y: Any = None, n: Any = None) -> Any:
        return self.fn(x, y, n)


def exported(fn: Callable[..., Any], example: tuple[Any, ...], spec: Any) -> ExportedProgram:
    return dynamo_lite.export(_Fn(fn), example, dynamic_shapes=spec)


def loaded(program: ExportedProgram) -> ExportedProgram:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return torch.export.load(buffer)


def t(*shape: int) -> torch.Tensor:
    return torch.ones(shape)


def _below(n: Any, end: int) -> Any:
    if n >= end:
        raise ValueError(f"{n} is not below {end}")
    return n


class GraphBreakRow(NamedTuple):
    """`bad` is a call that `fn` was not exported for.

    The message has each of `words`; after loading it is torch's, about `guard`.
    """

    fn: Callable[..., Any]
    example: tuple[Any, ...]
    spec: Any
    bad: tuple[Any, ...]
    words: tuple[str, ...]
    guard: str


N, M = Dim("n", min=3, max=9), Dim("m")

GRAPH_BREAKS = {
    "too small": GraphBreakRow(
        lambda x, y, n: x + 1, (t(4),), {"x": {0: N}}, (t(2),),
        ("Input x", "dimension 0", "between 3 and 9", "given 2"), "x.size()[0] >= 3"),
    "too large": GraphBreakRow(
        lambda x, y, n: x + 1, (t(4),), {"x": {0: Dim("a", max=5)}}, (t(6),),
        ("Input x", "dimension 0", "at most 5", "given 6"), "x.size()[0] <= 5"),
    "branch": GraphBreakRow(
        lambda x, y, n: x * 2 if x.shape[1] > 4 else x, (t(2, 6),), {"x": {1: Dim.AUTO(min=2)}}, (t(2, 4),),
        ("Input x", "dimension 1", "at least 5", "given 4"), "x.size()[1] >= 5"),
    "equal": GraphBreakRow(
        lambda x, y, n: x + y, (t(4, 2), t(4, 2)), {"x": {0: AUTO}, "y": {0: AUTO}}, (t(4, 2), t(5, 2)),
        ("Input y", "dimension 0", "4, as dimension 0 of x", "given 5"), "y.size()[0] == x.size()[0]"),
    "shared": GraphBreakRow(
        lambda x, y, n: (x + 1, y * 2), (t(4), t(2, 4)), {"x": {0: M}, "y": {1: M}}, (t(4), t(2, 7)),
        ("Input y", "dimension 1", "4, as dimension 0 of x", "given 7"), "y.size()[1] == x.size()[0]"),
    "derived": GraphBreakRow(
        lambda x, y, n: x + y[1:], (t(4), t(5)), {"x": {0: M}, "y": {0: M + 1}}, (t(4), t(6)),
        ("Input y", "dimension 0", "5 (s0 + 1, where s0 = 4, dimension 0 of x)", "given 6"),
        "y.size()[0] == x.size()[0] + 1"),
    "form": GraphBreakRow(
        lambda x, y, n: x + 1, (t(6),), {"x": {0: 2 * M}}, (t(7),),
        ("Input x", "dimension 0", "of the form 2*s0", "given 7"), "x.size()[0] == 2 * (x.size()[0] // 2)"),
    "divisible": GraphBreakRow(
        lambda x, y, n: x.reshape(-1, 4) if x.shape[0] % 4 == 0 else x, (t(8),), {"x": {0: AUTO}}, (t(10),),
        ("x.shape[0] % 4 == 0", "x.shape[0] is 10"), "x.size()[0] % 4 == 0"),
    "product": GraphBreakRow(
        lambda x, y, n: x.reshape(-1) + y, (t(2, 3), t(6)), {"x": {0: AUTO, 1: AUTO}, "y": {0: AUTO}},
        (t(2, 3), t(7)), ("Input y", "dimension 0", "6 (", "dimension 0 of x", "given 7"),
        "y.size()[0] == x.size()[0] * x.size()[1]"),
    "unequal": GraphBreakRow(
        lambda x, y, n: x + 1 if x.shape[0] != y.shape[0] else x, (t(3), t(4)), {"x": {0: AUTO}, "y": {0: AUTO}},
        (t(5), t(5)), ("x.shape[0]", "is 5"), "!="),
    "integer": GraphBreakRow(
        lambda x, y, n: x * _below(n, 5), (t(2), None, 3), {"x": None, "y": None, "n": Dim.DYNAMIC},
        (t(2), None, 7), ("Input n", "at most 4", "given 7"), "n <= 4"),
    "negative integer": GraphBreakRow(
        lambda x, y, n: x * _below(n, 0), (t(2), None, -3), {"x": None, "y": None, "n": Dim.DYNAMIC},
        (t(2), None, 7), ("Input n", "at most -1", "given 7"), "n <= -1"),
    "no integer": GraphBreakRow(
        lambda x, y, n: x * n, (t(2), None, 3), {"x": None, "y": None, "n": Dim.DYNAMIC}, (t(2), None, 3.5),
        ("Input n", "an int", "given the float 3.5"), "isinstance(n, (int, torch.SymInt))"),
    "static dimension": GraphBreakRow(
        lambda x, y, n: x + 1, (t(4, 2),), {"x": {0: AUTO}}, (t(4, 3),),
        ("Input x", "2]", "given a tensor of shape [4, 3]"), "x.size()[1] == 2"),
    "nested": GraphBreakRow(
        lambda x, y, n: x["a"][0] + x["b"], ({"a": [t(4)], "b": t(4)},),
        {"x": {"a": [{0: AUTO}], "b": {0: AUTO}}}, ({"a": [t(3)], "b": t(4)},),
        ("Input x['b']", "dimension 0", "3, as dimension 0 of x['a'][0]", "given 4"),
        "x['b'].size()[0] == x['a'][0].size()[0]"),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPH_BREAKS)
def test_refusals(name: str) -> None:
    """Live, copied and decomposed programs say it in words; a loaded one has torch's "Guard failed"."""
    case = GRAPH_BREAKS[name]
    program = exported(case.fn, case.example, case.spec)
    for version in (program, copy.deepcopy(program), program.run_decompositions({})):
        module = version.module()
        Oracle(_Fn(case.fn)).agrees(module, case.example)
        with pytest.raises(InputMismatch) as raised:
            module(*case.bad)
        for word in case.words:
            assert word in str(raised.value)
    module = loaded(program).module()
    Oracle(_Fn(case.fn)).agrees(module, case.example)
    with pytest.raises(AssertionError) as failed:
        module(*case.bad)
    assert case.guard in str(failed.value) and "Guard failed" in str(failed.value)


@dataclasses.dataclass
class Batch:
    """One field's name begins with the other's: torch.export writes guards for it that are no Python."""

    x: torch.Tensor
    x_mask: torch.Tensor


@dataclasses.dataclass
class RegisteredBatch:
    x: torch.Tensor
    x_mask: torch.Tensor


torch.export.register_dataclass(RegisteredBatch)


@pytest.mark.parametrize("cls", [Batch, RegisteredBatch])
@pytest.mark.parametrize("spec", [None, {"x": [{0: AUTO}, {0: AUTO}]}], ids=["static", "dynamic"])
def test_names_that_begin_with_other_names(cls: type, spec: Any) -> None:
    program = dynamo_lite.export(_Fn(lambda b, y, n: b.x * b.x_mask), (cls(t(4), t(4)),), dynamic_shapes=spec)
    modules = [program.module()] if cls is RegisteredBatch else [program.module(), loaded(program).module()]
    for module in modules:
        assert module(cls(t(4), t(4) * 2)).tolist() == [2.0] * 4
        with pytest.raises((InputMismatch, AssertionError), match=r"b\.x|x\.x"):
            module(cls(t(3), t(2)))
        with pytest.raises((InputMismatch, AssertionError), match=r"float64|dtype"):
            module(cls(t(4), t(4).double()))


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize("low", [0, 1])
def test_sizes_0_and_1_are_admitted_where_the_range_has_them(size: int, low: int) -> None:
    """torch's own checks let 0 and 1 pass always, or never."""
    fn = lambda x, y, n: (x * 2 + 1).sum(1)  # noqa: E731
    program = dynamo_lite.export(_Fn(fn), (t(5, 3),), dynamic_shapes={"x": {0: Dim("d", min=low, max=9)}})
    for version in (program, loaded(program), program.run_decompositions()):
        if size >= low:
            Oracle(_Fn(fn)).agrees(version.module(), (t(size, 3),))
        else:
            with pytest.raises((InputMismatch, AssertionError)):
                version.module()(t(size, 3))


def test_a_range_that_starts_at_two_is_enforced() -> None:
    """torch's generated checks leave out lower bounds up to 2."""
    program = dynamo_lite.export(_Fn(lambda x, y, n: x + 1), (t(5),), dynamic_shapes={"x": {0: Dim("d", min=2)}})
    with pytest.raises(InputMismatch, match="at least 2, given 1"):
        program.module()(t(1))
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] >= 2"):
        loaded(program).module()(t(1))


def test_validation_can_be_switched_off() -> None:
    module = exported(lambda x, y, n: x + 1, (t(5),), {"x": {0: N}}).module(check_guards=False)
    module.validate_inputs = False
    assert module(t(2)).tolist() == [2.0, 2.0]


def test_another_trace_may_look_at_the_program_with_its_own_sizes() -> None:
    program = exported(lambda x, y, n: x + 1, (t(5),), {"x": {0: N}})
    again = torch.export.export(program.module(), (t(5),), dynamic_shapes={"x": {0: Dim("k", min=3, max=9)}})
    assert again.module()(t(4)).shape == (4,)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(0, 12), columns=st.integers(0, 12), length=st.integers(0, 40), number=st.integers(-4, 12))
def test_admitted_or_refused_as_the_path_is_taken(rows: int, columns: int, length: int, number: int) -> None:
    """The program of one path admits a call exactly if eager takes that path on it."""
    call = t(rows, columns), t(length), number
    on_path = rows > 2 and columns % 3 == 1 and length == rows * columns + number and number <= 7
    for module in _path_programs():
        if on_path:
            torch.testing.assert_close(module(*call), _path(*call)[0])
        else:
            with pytest.raises((InputMismatch, AssertionError)):
                module(*call)


def _path(x: torch.Tensor, y: torch.Tensor, n: int) -> Any:
    if x.shape[0] > 2 and x.shape[1] % 3 == 1 and y.shape[0] == x.numel() + n and n <= 7:
        return x.sum() + y.sum() * n, True
    return x.sum() * 0, False


_PROGRAMS: list[Any] = []


def _path_programs() -> list[Any]:
    if not _PROGRAMS:
        spec = {"x": {0: AUTO, 1: AUTO}, "y": {0: AUTO}, "n": Dim.DYNAMIC}
        module, args = _Fn(lambda x, y, n: _path(x, y, n)[0]), (t(3, 4), t(17), 5)
        program = dynamo_lite.export(module, args, dynamic_shapes=spec, control_flow="refuse")
        _PROGRAMS.extend([program.module(), loaded(program).module()])
    return _PROGRAMS
