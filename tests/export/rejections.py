"""Calls that an exported program must reject: (program, example, wrong call, what the message must name)."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from .probe import Args, t


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class Mode(enum.Enum):
    ADD = 1
    MUL = 2


@dataclass(frozen=True)
class Rejection:
    """`words` must all be in the message: the input, what was expected, what was given."""

    name: str
    program: Callable[[], Any]
    example: Callable[[], Args]
    wrong: Callable[[], Args]
    words: tuple[str, ...]


def _two(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * 2 + y


def _nested(batch: dict[str, list[torch.Tensor]]) -> torch.Tensor:
    return batch["ids"][0] + batch["ids"][1]


def _constants(x: torch.Tensor, n: int, mode: str = "sum", flag: bool = True) -> torch.Tensor:
    return x.sum() * n if mode == "sum" and flag else x


def _optional(x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    return x if mask is None else x * mask


def _pair(p: Pair) -> torch.Tensor:
    return p.a + p.b


def _chosen(x: torch.Tensor, mode: Mode) -> torch.Tensor:
    return x + 1 if mode is Mode.ADD else x * 2


def _args(*args: Any, **kwargs: Any) -> Args:
    return args, kwargs


def _same(program: Any) -> Callable[[], Any]:
    return lambda: program


REJECTIONS: tuple[Rejection, ...] = (
    Rejection("shape", _same(_two), lambda: _args(t(2, 3), t(2, 3)), lambda: _args(t(5, 3), t(2, 3)), ("x", "2", "5")),
    Rejection(
        "second shape", _same(_two), lambda: _args(t(2, 3), t(2, 3)), lambda: _args(t(2, 3), t(2, 7)), ("y", "3", "7")
    ),
    Rejection("rank", _same(_two), lambda: _args(t(2, 3), t(2, 3)), lambda: _args(t(4, 2, 3), t(2, 3)), ("x",)),
    Rejection(
        "broadcastable shape",
        _same(_two),
        lambda: _args(t(2, 3), t(2, 3)),
        lambda: _args(t(2, 3), t(1, 3)),
        ("y", "2", "1"),
    ),
    Rejection(
        "dtype", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2).double(), t(2)), ("x", "float32", "float64")
    ),
    Rejection(
        "integer for float",
        _same(_two),
        lambda: _args(t(2), t(2)),
        lambda: _args(t(2), torch.tensor([1, 2])),
        ("y", "float32", "int64"),
    ),
    Rejection(
        "device", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2).to("meta"), t(2)), ("x", "cpu", "meta")
    ),
    Rejection("number for tensor", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2), 3.0), ("y",)),
    Rejection("none for tensor", _same(_optional), lambda: _args(t(2), t(2)), lambda: _args(t(2), None), ("mask",)),
    Rejection(
        "tensor for none", _same(_optional), lambda: _args(t(2), None), lambda: _args(t(2), t(2)), ("mask", "None")
    ),
    Rejection("shorter list", _same(_nested), lambda: _args({"ids": [t(2), t(2)]}), lambda: _args({"ids": [t(2)]}), ()),
    Rejection(
        "other key", _same(_nested), lambda: _args({"ids": [t(2), t(2)]}), lambda: _args({"idx": [t(2), t(2)]}), ()
    ),
    Rejection(
        "tuple for list", _same(_nested), lambda: _args({"ids": [t(2), t(2)]}), lambda: _args({"ids": (t(2), t(2))}), ()
    ),
    Rejection(
        "nested shape",
        _same(_nested),
        lambda: _args({"ids": [t(2), t(2)]}),
        lambda: _args({"ids": [t(2), t(4)]}),
        ("ids", "1", "2", "4"),
    ),
    Rejection("integer", _same(_constants), lambda: _args(t(2), 3), lambda: _args(t(2), 4), ("n", "3", "4")),
    Rejection(
        "string",
        _same(_constants),
        lambda: _args(t(2), 3, "sum"),
        lambda: _args(t(2), 3, "mean"),
        ("mode", "sum", "mean"),
    ),
    Rejection(
        "flag",
        _same(_constants),
        lambda: _args(t(2), 3, flag=True),
        lambda: _args(t(2), 3, flag=False),
        ("flag", "True", "False"),
    ),
    Rejection(
        "enum", _same(_chosen), lambda: _args(t(2), Mode.ADD), lambda: _args(t(2), Mode.MUL), ("mode", "ADD", "MUL")
    ),
    Rejection(
        "named tuple's field",
        _same(_pair),
        lambda: _args(Pair(t(2), t(2))),
        lambda: _args(Pair(t(2), t(3))),
        ("b", "2", "3"),
    ),
    Rejection("plain tuple", _same(_pair), lambda: _args(Pair(t(2), t(2))), lambda: _args((t(2), t(2))), ()),
    Rejection("missing argument", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2)), ()),
    Rejection("extra argument", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2), t(2), t(2)), ()),
    Rejection("unknown keyword", _same(_two), lambda: _args(t(2), t(2)), lambda: _args(t(2), t(2), z=t(2)), ()),
    Rejection(
        "module's input", lambda: nn.Linear(3, 4), lambda: _args(t(2, 3)), lambda: _args(t(2, 5)), ("input", "3", "5")
    ),
)
