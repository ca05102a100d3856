"""f-strings of tensors: fine as a message that is not read, refused wherever their text would matter."""

from __future__ import annotations

import io
import json
import logging
import pprint
import reprlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak

X = torch.ones(3)


def _check(holds: bool, message: str) -> None:
    if not isinstance(message, str):
        raise TypeError
    if not holds:
        raise ValueError(message)


def _message(x: Tensor) -> Tensor:
    _check(x.dim() == 1, f"bad {x} and {x.sum()} of {x.shape}")
    return x * 2


def _made_otherwise(x: Tensor) -> Tensor:
    _check(x.dim() == 1, f"bad {[x, {'a': x}]!r:>10}")
    _check(x.dim() == 1, "bad " + str(x) + repr((x,)))
    _check(x.dim() == 1, "bad %s, %r" % (x, [x]))  # noqa: UP031
    _check(x.dim() == 1, "bad {} {a[0]}".format(x, a=[x]))  # noqa: UP032
    _check(x.dim() == 1, f"bad {nn.Parameter(torch.ones(2))} {torch.ones(2, dtype=torch.int64).tolist()[:0]}")
    return x * 2


def _caught(x: Tensor) -> Tensor:
    try:
        _check(x.dim() == 2, f"bad {x}")
    except ValueError:
        return x * 3
    return x


def _talk(x: Tensor) -> Tensor:
    print(f"{x}")
    warnings.warn(f"{x}", stacklevel=2)
    logging.getLogger(__name__).info(f"{x}")
    torch._assert(x.dim() == 1, f"not {x}")
    return x + (type(f"{x}") is str)


def _error_text(x: Tensor) -> Any:
    try:
        raise ValueError(f"{x}")
    except ValueError as error:
        return x * len(str(error))


class _Box:
    """Its text is a tensor's."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{self.value}"


def _written(x: Tensor) -> Tensor:
    stream = io.StringIO()
    stream.writelines(f"{part}" for part in [x])
    return x * len(stream.getvalue())


UNREAD: list[Callable[[Tensor], Tensor]] = [_message, _made_otherwise, _caught, _talk]
READ: dict[str, Callable[[Tensor], Any]] = {
    "output": lambda x: (x, f"{x}"),
    "length": lambda x: x * len(f"{x}"),
    "equal": lambda x: x * (2 if f"{x}" == "a" else 3),
    "equal in a tuple": lambda x: x * (2 if (f"{x}",) == ("tensor(...)",) else 3),
    "part": lambda x: x * (2 if "tensor" in f"{x}" else 3),
    "element": lambda x: x * (2 if "tensor(...)" in [f"{x}"] else 3),
    "order": lambda x: x * (2 if f"{x}" > "a" else 3),
    "sorted": lambda x: x * sorted([f"{x}", "a"]).index("a"),
    "added": lambda x: x * len("a" + f"{x}"),
    "joined": lambda x: x * len("".join(["a", f"{x}"])),
    "percent": lambda x: x * len("%s" % f"{x}"),  # noqa: UP031
    "percent of two": lambda x: x * len("%s %d" % (f"{x}", 1)),  # noqa: UP031
    "format": lambda x: x * len("{a}".format(a=f"{x}")),
    "nested": lambda x: x * len(f"{f'{x}'!s} b"),
    "key": lambda x: x * {f"{x}": 2}.get("a", 3),
    "truth": lambda x: x * 2 if f"{x}" else x,
    "number": lambda x: x * int(f"{x.sum()}"),
    "loop": lambda x: x * sum(1 for _ in f"{x}"),
    "method": lambda x: x * len(f"{x}".lower()),
    "slice": lambda x: x * ord(f"{x}"[0]),
    "attribute": lambda x: x * getattr(_Box, f"{x}", 3),
    "keyword": lambda x: x * dict(**{f"{x}": 2}).popitem()[1],
    "repr of a list": lambda x: x * len(repr([f"{x}"])),
    "bytes": lambda x: x * len(bytes(f"{x}", "ascii")),
    "operator": lambda x: torch.einsum(f"{x}", x),
    "message of an error": _error_text,
    "of a list": lambda x: x * len(f"{[x]}"),
    "of a dict of lists": lambda x: x * len(f"{ {'a': [x]} }"),
    "padded": lambda x: x * len(f"{f'{x}':>30}"),
    "str": lambda x: x * len(str(x)),
    "str of a tuple": lambda x: x * len(str((x, 1))),
    "repr": lambda x: x * len(repr(x)),
    "percent of a tensor": lambda x: x * len("%s" % x),  # noqa: UP031
    "percent of a list": lambda x: x * len("%s" % [x]),
    "format of a tensor": lambda x: x * len("{} {}".format(1, x)),  # noqa: UP032
    "pretty": lambda x: x * len(pprint.pformat([x] * 30)),
    "short": lambda x: x * len(reprlib.repr([x])),
    "json": lambda x: x * len(json.dumps({"a": [f"{x}"]})),
    "repr of objects": lambda x: x * len(repr([_Box(x)])),
    "joined by a generator": lambda x: x * len("".join(f"{part}" for part in [x])),
    "joined by map": lambda x: x * len("".join(map(lambda part: f"{part}", [x]))),  # noqa: C417
    "written": _written,
}


@pytest.mark.parametrize("program", UNREAD)
def test_a_text_that_nobody_reads(program: Callable[[Tensor], Tensor]) -> None:
    exported = dynamo_lite.export(program, (X,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(exported.module()(X), program(X))


@pytest.mark.parametrize("how", READ)
def test_a_text_that_matters_is_refused(how: str) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(READ[how], (X,))
    assert caught.value.id == "tensor-repr"
