"""Texts of sizes: as messages that is not read they leave the size dynamic; where they matter they fix it."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import InputMismatch
from tests.models.compare import difference

EXAMPLE, SIZES = 4, (3, 4, 5, 10, 11)


def _check(holds: bool, message: str, *more: Any) -> None:
    if not isinstance(message, str):
        raise TypeError
    if not holds:
        raise ValueError(message)


def _caught(x: Tensor) -> Tensor:
    try:
        _check(x.dim() == 3, f"bad {x.shape}")
    except ValueError:
        return x * 3
    return x


class _Checker:
    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"Checker({self.what})"

    def check(self, holds: bool, message: str) -> None:
        _check(holds, message)

    def __call__(self, holds: bool, *messages: str, **more: str) -> None:
        _check(holds, *messages)


def _held(x: Tensor) -> Tensor:
    checker = _Checker(f"size {x.shape[0]}")
    _check(x.dim() == 2, checker.what)
    return x + 1


class _CheckingModule(nn.Module):
    def forward(self, x: Tensor, message: str) -> Tensor:
        _check(x.dim() == 2, message)
        return x


def _handed_on(x: Tensor) -> Tensor:
    checker = _Checker("")
    checker.check(x.dim() == 2, f"bad {x.shape}")
    checker(x.dim() == 2, f"bad {x.shape}", more=f"{x.shape[1]} {x.shape[0]}")
    with _context(f"{x.shape}"):
        x = _CheckingModule()(x, f"bad {x.shape}")
    return x


@contextmanager
def _context(message: str) -> Iterator[None]:
    yield


def _joined(x: Tensor) -> Tensor:
    message = "x is " + f"{x.shape[0] * 2:>8}" + " " + f"{x.shape!r}"
    message += f", {list(x.shape)} and {{x.shape[0]: x.shape}}"
    _check(x.dim() == 2, f"error: {message}")
    return x + 1


def _of_data(x: Tensor) -> Tensor:
    n = x.sum().to(torch.int64).item()
    _check(x.dim() == 2, f"bad {n} and {float(n)}")
    return x + 1


UNREAD: list[Callable[[Tensor], Tensor]] = [_caught, _held, _handed_on, _joined, _of_data]
UNREAD += [
    lambda x: (_check(x.shape[0] > 1, "bad " + str(x.shape[0])), x + 1)[1],
    lambda x: (_check(x.shape[0] > 1, repr(x.shape)), x + 1)[1],
    lambda x: (_check(x.shape[0] > 1, "bad {} {n:d}".format(x.shape, n=x.shape[0])), x + 1)[1],  # noqa: UP032
    lambda x: (_check(x.shape[0] > 1, format(x.shape[0], "d")), x + 1)[1],
    lambda x: (_check(x.shape[0] > 1, f"{x.shape[0] / 3:.2f}"), x + 1)[1],
    lambda x: (_check(x.shape[0] > 1, "bad %d of %s" % (x.shape[0], x.shape)), x + 1)[1],  # noqa: UP031
    lambda x: (_check(x.shape[0] > 1, "bad %s" % x.shape[0]), x + 1)[1],  # noqa: UP031
]


def _error_text(x: Tensor) -> Tensor:
    try:
        raise ValueError(f"{x.shape}")
    except ValueError as error:
        return x * len(str(error))


def _printed(x: Tensor) -> Tensor:
    with redirect_stdout(io.StringIO()) as out:
        print(f"{x.shape[0]}")
    return x * len(out.getvalue())


def _warned(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn(f"{x.shape[0]}", stacklevel=1)
        except UserWarning as warning:
            return x * len(str(warning))
    return x


def _repr_of_an_object(x: Tensor) -> Tensor:
    return x * len(repr([_Checker(f"{x.shape[0]}")]))


def _in_turn(x: Tensor) -> Tensor:
    first, second = f"{x.shape[0]}", f"{x.shape[0] + 6}"
    return x * (2 if first == "4" else 3) * (2 if second > first else 3)


READ: dict[str, Callable[[Tensor], Any]] = {
    "output": lambda x: (x, f"{x.shape[0]}"),
    "nested output": lambda x: {"a": [x, f"{x.shape}"]},
    "key of the output": lambda x: {f"k{x.shape[0]}": x},
    "length": lambda x: x * len(f"{x.shape[0]}"),
    "equal": lambda x: x * (2 if f"{x.shape[0]}" == "4" else 3),
    "equal, the other way": lambda x: x * (2 if "4" == f"{x.shape[0]}" else 3),  # noqa: SIM300
    "in a text": lambda x: x * (2 if f"{x.shape[0]}" in "1 4 7" else 3),
    "a part": lambda x: x * (2 if "4" in f"{x.shape}" else 3),
    "an element": lambda x: x * (2 if "4" in [f"{x.shape[0]}"] else 3),
    "order": lambda x: x * (2 if f"{x.shape[0]}" > "3" else 3),
    "sorted": lambda x: x * sorted([f"{x.shape[0]}", "4"]).index("4"),
    "added": lambda x: x * len("a" + f"{x.shape[0]}"),
    "joined": lambda x: x * len("".join(["a", str(x.shape[0])])),
    "percent": lambda x: x * len("%s" % f"{x.shape[0]}"),  # noqa: UP031
    "percent of a size": lambda x: x * len("%d and %s" % (x.shape[0], x.shape[0])),  # noqa: UP031
    "format": lambda x: x * len("{a}".format(a=f"{x.shape[0]}")),
    "spec": lambda x: x * len(f"{1:{x.shape[0]}}"),
    "spec of a text": lambda x: x * len(f"{'a':>{x.shape[0]}}"),
    "key": lambda x: x * {"4": 2}.get(f"{x.shape[0]}", 3),
    "stored key": lambda x: x * {f"{x.shape[0]}": 2}.get("4", 3),
    "number": lambda x: x * int(f"{x.shape[0]}"),
    "loop": lambda x: x * sum(int(c) for c in f"{x.shape[0]}"),
    "method": lambda x: x * (2 if f"{x.shape[0]}".endswith("4") else 3),
    "argument of a method": lambda x: x * (2 if "1454".endswith(f"{x.shape[0]}") else 3),
    "slice": lambda x: x * ord(f"{x.shape[0]}"[0]),
    "attribute": lambda x: x * getattr(_Checker, f"{x.shape[0]}", 3),
    "keyword": lambda x: x * dict(**{f"n{x.shape[0]}": 2}).get("n4", 3),
    "json": lambda x: x * len(json.dumps({"a": [f"{x.shape[0]}"]})),
    "match": lambda x: x * _matched(f"{x.shape[0]}"),
    "truth": lambda x: x * (2 if f"{x.shape[0]}"[1:] else 3),
    "class": lambda x: x * (2 if f"{x.shape[0]}".__class__ is str else 3) * len(f"{x.shape[0]}"),
    "message of an error": _error_text,
    "printed": _printed,
    "warned": _warned,
    "repr of an object": _repr_of_an_object,
    "in turn": _in_turn,
    "joined by a generator": lambda x: x * len("".join(f"{n}" for n in x.shape)),
    "two texts": lambda x: x * (2 if f"{x.shape[0]}" == f"{x.shape[0] * 1}" else 3) * len(f"{x.shape}"),
}


def _matched(text: str) -> int:
    match text:
        case "4":
            return 2
        case str():
            return 3
    return 5


class _Of(nn.Module):
    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("program", UNREAD)
def test_a_text_that_nobody_reads_fixes_nothing(program: Callable[[Tensor], Tensor]) -> None:
    exported = dynamo_lite.export(_Of(program), (torch.ones(EXAMPLE, 2),), dynamic_shapes=({0: Dim.DYNAMIC},))
    for size in SIZES:
        x = torch.randn(size, 2)
        torch.testing.assert_close(exported.module()(x), program(x))


@pytest.mark.parametrize("how", READ)
def test_a_text_that_matters_is_right(how: str) -> None:
    program = READ[how]
    exported = dynamo_lite.export(_Of(program), (torch.ones(EXAMPLE, 2),), dynamic_shapes=({0: Dim.AUTO},))
    refused = []
    for size in SIZES:
        x = torch.randn(size, 2)
        try:
            got = exported.module()(x)
        except InputMismatch:
            refused.append(size)
        else:
            want = program(x)
            assert difference(got, want, 0.0) is None
    assert EXAMPLE not in refused and 11 in refused


class _Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: str | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.seen is None:
            self.seen = f"{x.shape[0]}"
        return x + 1


def test_a_text_that_stays_in_the_state_is_of_this_size() -> None:
    program = dynamo_lite.export(_Remembers(), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.raises(InputMismatch):
        program.module()(torch.ones(5, 2))


def test_the_condition_names_the_line_that_made_the_text() -> None:
    def program(x: Tensor) -> Tensor:
        text = f"{x.shape[0]}"  # here
        y = x + 1
        return y * len(text)

    trace = dynamo_lite.trace(_Of(program), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert [row.origin.code.endswith("# here") for row in trace.specializations] == [True]


def test_an_error_of_the_program_can_be_shown() -> None:
    def program(x: Tensor) -> Tensor:
        raise ValueError(f"bad {x.shape} of {x}")

    with pytest.raises(ValueError) as caught:
        dynamo_lite.export(_Of(program), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert "bad torch.Size([4, 2])" in str(caught.value)
