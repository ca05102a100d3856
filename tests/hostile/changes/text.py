"""Attributes that text formatting reads."""

# ruff: noqa: UP030, UP031, UP032

from __future__ import annotations

import string
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    """`forward` turns `self.n` (2) and `self.d["n"]` (2) into a text that its result is made of."""
    mod = Module(lambda s, x: x * len(forward(s)), n=2, d={"n": 2}, b=Box(n=2, d={"n": 2}), xs=[1, 2], **more)
    return Changes(mod, {})


@row
def format_attribute() -> Changes:
    made = _of(lambda s: "{0.n}".format(s))
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def format_attribute_of_attribute() -> Changes:
    made = _of(lambda s: "{0.b.n}".format(s))
    made.told = {"value": setter(made.program.held.b, "n", 10), "owner": setter(made.program.held, "b", Box(n=222))}
    return made


@row
def format_item() -> Changes:
    made = _of(lambda s: f"{s.d['n']}")
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def format_keyword() -> Changes:
    made = _of(lambda s: f"{s.n}")
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def format_map() -> Changes:
    made = _of(lambda s: "{n}".format_map(vars(s)))
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def format_map_with_attribute() -> Changes:
    made = _of(lambda s: "{b.n}".format_map({"b": s.b}))
    made.told = {"value": setter(made.program.held.b, "n", 10)}
    return made


@row
def format_bound_later() -> Changes:
    made = _of(lambda s: next(map("{0.n}".format, [s])))
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def formatter() -> Changes:
    made = _of(lambda s: string.Formatter().format("{0.n}", s))
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def template() -> Changes:
    made = _of(lambda s: string.Template("$n").substitute(s.d))
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def template_of_vars() -> Changes:
    made = _of(lambda s: string.Template("$n").safe_substitute(vars(s)))
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def percent_of_a_mapping() -> Changes:
    made = _of(lambda s: "%(n)s" % s.d)
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def percent_of_vars() -> Changes:
    made = _of(lambda s: "%(n)s" % s.__dict__)
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def percent_of_a_list() -> Changes:
    made = _of(lambda s: "%s" % s.xs)
    made.told = {"value": item(made.program.held.xs, 0, 10)}
    return made


class _Shown:
    def __init__(self, n: int) -> None:
        self.n = n

    def __repr__(self) -> str:
        return "r" * self.n

    def __str__(self) -> str:
        return "s" * (self.n + 1)

    def __format__(self, spec: str) -> str:
        return spec * self.n


@row
def repr_in_an_f_string() -> Changes:
    made = _of(lambda s: f"{s.shown!r}", shown=_Shown(3))
    made.told = {"value": setter(made.program.held.shown, "n", 10)}
    return made


@row
def repr_in_a_list() -> Changes:
    made = _of(lambda s: str([s.shown]), shown=_Shown(3))
    made.told = {"value": setter(made.program.held.shown, "n", 10)}
    return made


@row
def repr_in_a_dict_in_percent() -> Changes:
    made = _of(lambda s: "%r" % ({"a": s.shown},), shown=_Shown(3))
    made.told = {"value": setter(made.program.held.shown, "n", 10)}
    return made


@row
def format_spec() -> Changes:
    made = _of(lambda s: f"{s.shown:ab}", shown=_Shown(3))
    made.told = {"value": setter(made.program.held.shown, "n", 10)}
    return made


@row
def join_of_texts() -> Changes:
    made = _of(lambda s: "".join(map(str, s.xs)))
    made.told = {"value": item(made.program.held.xs, 0, 10)}
    return made


@row
def repr_of_an_ordinary_object() -> Changes:
    made = _of(lambda s: type(s).__qualname__)
    made.told = {"name": setter(type(made.program.held), "__qualname__", "Longer name")}
    return made
