"""Constants as inputs and outputs of programs: enums, flags, dtypes, slices, nan; in every form that a program has."""

from __future__ import annotations

import collections
import enum
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch.export import ExportedProgram

import dynamo_lite
from dynamo_lite.errors import InputMismatch, UnsupportedValue
from dynamo_lite.program.trees.constant_outputs import ConstantContext, in_structure


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Mark(enum.Flag):
    X = 1
    Y = 2
    Z = 4


class Bits(enum.IntFlag):
    X = 1
    Y = 2


class Word(str, enum.Enum):  # noqa: UP042 - its text is another one than that of a StrEnum
    P = "p"
    QUOTED = "it's"


class Half(float, enum.Enum):
    LOW = 0.5


class Pair(NamedTuple):
    first: Any
    second: Any = None


class Named(Pair):
    @property
    def total(self) -> Any:
        return self.first.sum()


class Collected(collections.namedtuple("Collected", "x y")):
    __slots__ = ()


OUTPUTS: dict[str, Any] = {
    "enum": Color.RED, "enum of a string": Color.BLUE, "int enum": Number.TWO, "flag": Mark.X, "flags": Mark.X | Mark.Y,
    "no flag": Mark(0), "int flags": Bits.X | Bits.Y, "string enum": Word.QUOTED, "float enum": Half.LOW,
    "slice": slice(1, None, 2), "range": range(1, 9, 3), "bytes": b"a\x00b", "complex": 1 - 2j, "ellipsis": ...,
    "frozenset": frozenset({1, "a", Color.RED}), "dtype": torch.float16, "device": torch.device("cpu"),
    "layout": torch.strided, "memory format": torch.channels_last, "type": int, "nan": float("nan"),
    "infinity": -float("inf"), "negative zero": -0.0, "large number": 10**30, "string": "it's \"k\"\n", "none": None,
}  # fmt: skip


def saved(program: ExportedProgram) -> ExportedProgram:
    buffer = io.BytesIO()
    dynamo_lite.save(program, buffer)
    buffer.seek(0)
    return dynamo_lite.load(buffer)


FORMS: dict[str, Callable[[ExportedProgram], Callable[..., Any]]] = {
    "module": lambda p: p.module(),
    "loaded": lambda p: saved(p).module(),
    "decomposed": lambda p: p.run_decompositions().module(),
    "unflattened": lambda p: torch.export.unflatten(p),
    "loaded, decomposed, loaded": lambda p: saved(saved(p).run_decompositions()).module(),
}


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return [*one] == [*other] and all(map(alike, one.values(), other.values()))
    if isinstance(one, frozenset):
        return one == other
    return one is other if isinstance(one, enum.Enum) else repr(one) == repr(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_constant_is_an_output_in_every_form(name: str) -> None:
    constant = OUTPUTS[name]

    def f(x: torch.Tensor) -> Any:
        return {"a": [x + 1, (constant, None)], "b": Named(x, constant), "c": Collected(constant, x.sum())}

    x = torch.arange(3.0)
    program = dynamo_lite.export(f, (x,))
    for form, make in FORMS.items():
        assert alike(make(program)(x), f(x)), form


@pytest.mark.filterwarnings("ignore")
def test_only_constants() -> None:
    program = dynamo_lite.export(lambda x: (Color.RED, Mark.X | Mark.Z), (torch.ones(2),))
    for form in ("module", "decomposed", "unflattened"):  # torch's files hold no program without an output node
        make = FORMS[form]
        assert make(program)(torch.ones(2)) == (Color.RED, Mark.X | Mark.Z), form


def test_torchs_own_functions_write_and_read_them() -> None:
    buffer = io.BytesIO()
    torch.export.save(dynamo_lite.export(lambda x: (x, Mark.X | Mark.Z), (torch.ones(2),)), buffer)
    buffer.seek(0)
    assert torch.export.load(buffer).module()(torch.ones(2))[1] is Mark.X | Mark.Z


@pytest.mark.parametrize(
    "value", [{1}, slice(torch.ones(1)), frozenset({(1,)}), object()], ids=["set", "slice", "frozenset", "object"]
)
def test_what_is_no_constant_is_refused(value: Any) -> None:
    assert not in_structure(value)
    with pytest.raises(UnsupportedValue):
        dynamo_lite.export(lambda x: (x, value), (torch.ones(2),))


def test_constants_of_another_type_are_not_equal() -> None:
    kept = [ConstantContext(value) for value in OUTPUTS.values()]
    for i, one in enumerate(kept):
        assert [j for j, other in enumerate(kept) if one == other] == [i]
        assert ConstantContext.from_json(one.to_json()) == one
    assert ConstantContext(slice(1, 2)) != ConstantContext(slice(1, 3)) != slice(1, 3)


# -- inputs ---------------------------------------------------------------------------------------------------------
INPUTS: dict[str, tuple[Any, Any]] = {
    "enum": (Color.RED, Color.BLUE), "int enum": (Number.TWO, Number.ONE), "int flags": (Bits.X | Bits.Y, Bits.X),
    "string enum": (Word.P, Word.QUOTED), "quoted enum": (Word.QUOTED, Word.P), "dtype": (torch.float16, torch.float64),
    "device": (torch.device("cpu"), torch.device("meta")),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INPUTS)
def test_a_constant_as_an_input_is_a_guard(name: str) -> None:
    constant, other = INPUTS[name]

    def f(x: torch.Tensor, given: list[Any]) -> tuple[torch.Tensor, Any]:
        return x + (1 if given[0] == constant else 2), given[0]

    x = torch.ones(3)
    program = dynamo_lite.export(f, (x, [constant]))
    for form in (
        ("module", "decomposed", "unflattened") if isinstance(constant, enum.Enum) else ("module", "unflattened")
    ):
        made = FORMS[form](program)
        assert alike(made(x, [constant]), f(x, [constant])), form
        with pytest.raises((InputMismatch, AssertionError, ValueError)):
            made(x, [other])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dtype", "device"])
def test_decompositions_take_such_inputs(name: str) -> None:
    """torch's own have an AssertionError for them."""
    constant, other = INPUTS[name]
    program = dynamo_lite.export(lambda x, given: x + 1, (torch.ones(3), constant))
    decomposed = program.run_decompositions().module()
    assert alike(decomposed(torch.zeros(3), constant), torch.ones(3))
    with pytest.raises((InputMismatch, AssertionError, ValueError)):
        decomposed(torch.zeros(3), other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["enum", "int enum", "dtype"])
def test_torchs_files_hold_no_such_inputs(name: str) -> None:
    program = dynamo_lite.export(lambda x, given: x + 1, (torch.ones(3), INPUTS[name][0]))
    with pytest.raises(Exception, match=r"[Ss]erializ"):
        saved(program)


def test_a_flag_as_an_input_is_refused() -> None:
    with pytest.raises(UnsupportedValue, match=r"given\[0\].*enum.Flag.*iterates") as refusal:
        dynamo_lite.export(lambda x, given: x + 1, (torch.ones(3), [Mark.X | Mark.Y]))
    assert "IntFlag" in str(refusal.value)


def test_named_tuples_as_inputs() -> None:
    def f(x: torch.Tensor, pair: Named, other: Collected) -> Any:
        return x * pair.total + other.y, type(pair)(other.x, pair.second)

    args = (torch.arange(3.0), Named(torch.ones(3), "k"), Collected(torch.zeros(3), 2))
    program = dynamo_lite.export(f, args)
    for form, make in FORMS.items():
        assert alike(make(program)(*args), f(*args)), form
    with pytest.raises(InputMismatch):
        program.module()(args[0], Pair(torch.ones(3), "k"), args[2])
