"""Messages with numbers of data in them, of errors raised under a condition on data: made, and not read."""

# ruff: noqa: UP031

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import GraphBreak, InputMismatch

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
BAD = torch.full((2, 3), 1000.0)


class CodeError(Exception):
    def __init__(self, value: Any, code: int = 0) -> None:
        super().__init__(value)
        self.code = code


def listed(x: Tensor) -> str:
    lines = ["values:"]
    lines.append(f"{x.sum().item():.2f}")
    return "\n".join(lines)


def plural(x: Tensor) -> str:
    n = (x > 100).sum().item()
    return f"{n} of {x.numel()} ({100 * n / x.numel():.1f}%) value" + ("s" if n > 1 else "")


MESSAGES: dict[str, Callable[[Tensor], Any]] = {
    "percent": lambda x: "%.2f" % x.sum(),
    "percent of a number": lambda x: "%.2f" % x.sum().item(),
    "percent of an int": lambda x: "%d %x" % (x.sum(), int(x.sum())),
    "percent of a dict": lambda x: "%(sum).2f" % {"sum": x.sum()},
    "percent of some": lambda x: "%s has %d of %.1f" % (tuple(x.shape), x.argmax(), x.max()),
    "format": lambda x: f"{x.sum().item():.2f} {x.mean():>10}",
    "tolist": lambda x: f"bad {x.tolist()}",
    "the list": lambda x: x.tolist(),
    "the number": lambda x: x.sum().item(),
    "the tensor": lambda x: x.sum(),
    "join": lambda x: ", ".join(str(value) for value in x.flatten().tolist()),
    "join of a list": lambda x: ", ".join([f"{value:.2f}" for value in x.flatten().tolist()]),
    "methods": lambda x: str(x.sum().item()).ljust(10).rstrip().replace("0", "o").upper().center(20),
    "text of a tensor": lambda x: repr(x).replace("tensor", ""),
    "a list of lines": listed,
    "both ways": plural,
}


@pytest.mark.parametrize("kind", [ValueError, KeyError, CodeError])
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_under_a_condition_on_data(message: Callable[[Tensor], Any], kind: type[Exception]) -> None:
    def check(x: Tensor) -> Tensor:
        if x.sum() > 100:
            text = message(x)
            raise kind(text)
        return x * 2

    run = dynamo_lite.export(check, (X,)).module()
    torch.testing.assert_close(run(X + 1), check(X + 1))
    with pytest.raises(kind):
        check(BAD)
    with pytest.raises(RuntimeError, match=kind.__name__):
        run(BAD)


def appended(x: Tensor) -> Any:
    found: list[str] = []
    found.append("%d" % x.sum())
    return x * 2 if "21" in found else x


READS: dict[str, Callable[[Tensor], Any]] = {
    "length": lambda x: x * len("%.2f" % x.sum()),
    "equal": lambda x: x * 2 if "%.2f" % x.sum() == "21.00" else x,
    "part": lambda x: x * 2 if "1" in "%.2f" % x.sum() else x,
    "key": lambda x: {"21": x}.get("%d" % x.sum(), x * 2),
    "length of the results": lambda x: x * len(("%d" % x.sum()).ljust(9)),
    "equal to the results": lambda x: x * 2 if ("%d" % x.sum()).replace("1", "0") == "20" else x,
    "length of what is joined": lambda x: x * len(",".join(["%d" % x.sum(), "a"])),
    "number": lambda x: x * float("%.2f" % x.sum()),
    "output": lambda x: (x, ("%.2f" % x.sum()).strip()),
    "item of a list": appended,
}


@pytest.mark.parametrize("program", READS.values(), ids=READS.keys())
def test_who_reads_it_is_refused(program: Callable[[Tensor], Any]) -> None:
    with pytest.raises(GraphBreak):
        dynamo_lite.export(program, (X,))


def test_a_list_from_outside_is_read() -> None:
    seen: list[str] = []

    def noted(x: Tensor) -> Tensor:
        seen.append("%d" % x.sum())
        return x * 2

    with pytest.raises(GraphBreak):
        dynamo_lite.export(noted, (X,))
    assert not seen


def test_what_is_printed_or_logged(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x: Tensor) -> Tensor:
        print("%.2f" % x.sum())
        logging.getLogger(__name__).debug("%.2f" % x.mean().item())
        return x * 2

    torch.testing.assert_close(dynamo_lite.export(shown, (X,)).module()(BAD), shown(BAD))


def test_a_size_is_as_the_text_says() -> None:
    """A text of sizes is that of the example, and fixes the size where it is read, not where it is made."""

    def unread(x: Tensor) -> Tensor:
        message = ("%.1f" % x.shape[0]).ljust(8) + ", ".join(str(size) for size in x.shape)
        if x.dim() > 2:
            raise ValueError(message)
        return x * 2

    def read(x: Tensor) -> Tensor:
        return x * len(str(x.shape[0]).zfill(3).lstrip("0"))

    shapes = ({0: torch.export.Dim.AUTO},)
    run = dynamo_lite.export(unread, (X,), dynamic_shapes=shapes).module()
    torch.testing.assert_close(run(torch.ones(12, 3)), unread(torch.ones(12, 3)))
    run = dynamo_lite.export(read, (X,), dynamic_shapes=shapes).module()
    torch.testing.assert_close(run(X), read(X))
    with pytest.raises(InputMismatch):
        run(torch.ones(12, 3))


def both_raise(x: Tensor) -> Tensor:
    if x.sum() > 0:
        if x.max() > 3:
            raise ValueError("large")
        else:
            raise KeyError("small")
    return x * 2


def raised_by_a_call(x: Tensor) -> Tensor:
    def fail(x: Tensor) -> None:
        raise ValueError("large" if x.max() > 3 else "small")

    if x.sum() > 0:
        fail(x)
    return x * 2


def one_caught(x: Tensor) -> Tensor:
    try:
        return both_raise(x)
    except KeyError:
        return x * 7


@pytest.mark.parametrize("program", [both_raise, raised_by_a_call])
def test_a_side_that_raises_whatever_the_data_are(program: Callable[[Tensor], Tensor]) -> None:
    run = dynamo_lite.export(program, (-X,)).module()
    for x in (-X, X, X * 0.1, X * 0):
        try:
            expected = program(x)
        except (ValueError, KeyError):
            with pytest.raises(RuntimeError):
                run(x)
        else:
            torch.testing.assert_close(run(x), expected)


def test_an_error_that_is_caught_is_a_way_on() -> None:
    with pytest.raises(GraphBreak, match="the program may catch"):
        dynamo_lite.export(one_caught, (-X,))


def test_a_change_before_both_errors_is_refused() -> None:
    def noted(x: Tensor) -> Tensor:
        if x.sum() > 0:
            x.add_(1)
            if x.max() > 3:
                raise ValueError("large")
            else:
                raise KeyError("small")
        return x * 2

    with pytest.raises(GraphBreak, match="changes an input"):
        dynamo_lite.export(noted, (-X,))
