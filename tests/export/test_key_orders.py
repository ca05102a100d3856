"""Keyword arguments, and the keys of a dict, in another order than the example's: right, or refused with the reason."""

from __future__ import annotations

import collections
import copy
import functools
import operator
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import StructureMismatch

A, B = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])


def weighted(values: Iterable[Any]) -> Any:
    """What depends on the order of the values."""
    total: Any = 0
    for value in values:
        total = total * 2 + value
    return total


def doubled(d: dict[str, Any]) -> Any:
    d["a"] = d["a"] * 2
    d["b"] = d["b"] * 2
    return weighted(d.values())


def updated(kw: dict[str, Any], *new: Any, **named: Any) -> Any:
    made: dict[str, Any] = {}
    made.update(kw)
    made.update(*new, **named)
    return weighted(made.values())


def filled(kw: dict[str, Any]) -> Any:
    made: dict[str, Any] = {"c": 1}
    made.update(kw)
    return subtracted(**made)


def attributes(kw: dict[str, Any]) -> Any:
    names = SimpleNamespace(**kw)
    names.a, names.b = names.a + 1, names.b + 1
    return weighted(vars(names).values())


def set_items(kw: dict[str, Any]) -> Any:
    made = dict(kw)
    operator.setitem(made, "a", made["a"] * 2)
    dict.__setitem__(made, "b", made["b"] * 2)
    return weighted(made.values())


def checked(kw: dict[str, Any]) -> Any:
    unknown = set(kw) - {"a", "b"}
    if unknown or kw.keys() != {"a", "b"}:
        raise TypeError(unknown)
    return kw["a"] - kw["b"]


def reinserted(kw: dict[str, Any]) -> Any:
    kw["a"] = kw.pop("a")
    return weighted(kw.values())


def subtracted(a: Any, b: Any, **rest: Any) -> Any:
    return a - b


class Given(nn.Module):
    def __init__(self, use: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__()
        self.use = use

    def forward(self, **kw: Any) -> Any:
        return self.use(kw)


class Within(Given):
    def forward(self, d: dict[str, Any]) -> Any:  # type: ignore[override]
        return self.use({**d})


class Hooked(Given):
    def __init__(self, use: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(use)
        self.register_forward_pre_hook(lambda module, args, kw: ((use(kw),), {}), with_kwargs=True)

    def forward(self, x: Any = None, a: Any = None, b: Any = None) -> Any:  # type: ignore[override]
        return x


def call(kind: type[Given], run: Any, kw: dict[str, Any]) -> Any:
    return run(dict(kw)) if kind is Within else run(**kw)


def export(module: Given) -> Any:
    kw = {"a": A, "b": B}
    program = dynamo_lite.export(module, (kw,)) if isinstance(module, Within) else dynamo_lite.export(module, (), kw)
    return program.module()


ANY_ORDER: dict[str, Callable[[dict[str, Any]], Any]] = {
    "passed on": lambda kw: subtracted(**kw),
    "partial": lambda kw: functools.partial(subtracted, **kw)(),
    "copied": lambda kw: subtracted(**dict(kw)) + {**kw}["a"] + kw.copy()["b"] + copy.copy(kw)["a"],
    "copied, with more": lambda kw: subtracted(**{"c": 1, **kw}) + collections.OrderedDict(kw)["a"],
    "updated": filled,
    "checked": checked,
    "sorted": lambda kw: weighted(kw[name] for name in sorted(kw)) + weighted(kw[name] for name in sorted(kw.keys())),
    "sorted items": lambda kw: weighted(value for _, value in sorted(kw.items())),
    "set algebra": lambda kw: weighted(kw[name] for name in sorted(kw.keys() & {"a", "b", "c"})),
    "reinserted": reinserted,
    "an order of its own": lambda kw: weighted({"b": kw["b"] * 2, "a": kw["a"] * 2}.values()),
}
ONE_ORDER: dict[str, Callable[[dict[str, Any]], Any]] = {
    "values": lambda kw: weighted(kw.values()),
    "C code": lambda kw: functools.reduce(lambda a, b: a * 2 + b, kw.values()),
    "copies": lambda kw: weighted({**dict(kw.copy())}.values()),
    "deepcopy": lambda kw: weighted(copy.deepcopy(kw).values()),
    "first": lambda kw: next(iter(dict(kw).values())) * 2,
    "last": lambda kw: {**kw}.popitem()[1] * 2,
    "ordered": lambda kw: collections.OrderedDict(kw).popitem(last=False)[1] * 2,
    "text": lambda kw: kw["a"] * f"{kw.keys()}".index("a"),
    "stable sort": lambda kw: weighted(kw[name] for name in sorted(kw, key=lambda name: 0)),
    "given back": lambda kw: weighted({**kw, "c": A}.values()),
    "new values": doubled,
    "new values in a copy": lambda kw: doubled({**kw}),
    "new values of parameters": lambda kw: (lambda **named: doubled(named))(**kw),
    "new values of a partial": lambda kw: weighted(
        functools.partial(dict, **kw)(a=kw["a"] * 2, b=kw["b"] * 2).values()
    ),
    "new values, nested": lambda kw: weighted(
        functools.partial(functools.partial(dict, **kw), a=kw["a"] * 2)(b=kw["b"] * 2).values()
    ),
    "new values, merged": lambda kw: weighted({**kw, "a": kw["a"] * 2, **{"b": kw["b"] * 2}}.values()),
    "new values, dict()": lambda kw: weighted(dict(kw, a=kw["a"] * 2, b=kw["b"] * 2).values()),
    "updated": lambda kw: updated(kw, a=kw["a"] * 2, b=kw["b"] * 2),
    "updated by a dict": lambda kw: updated(kw, {"a": kw["a"] * 2, "b": kw["b"] * 2}),
    "updated by pairs": lambda kw: updated(kw, [("a", kw["a"] * 2), ("b", kw["b"] * 2)]),
    "attributes": attributes,
    "items set": set_items,
}


@pytest.mark.parametrize("kind", [Given, Within, Hooked])
@pytest.mark.parametrize("use", ANY_ORDER.values(), ids=ANY_ORDER.keys())
def test_an_order_that_does_not_show(use: Callable[[dict[str, Any]], Any], kind: type[Given]) -> None:
    module = kind(use)
    run = export(module)
    for kw in ({"b": B, "a": A}, {"a": B, "b": A}):
        torch.testing.assert_close(call(kind, run, kw), call(kind, module, kw), rtol=0, atol=0)


@pytest.mark.parametrize("kind", [Given, Within, Hooked])
@pytest.mark.parametrize("use", ONE_ORDER.values(), ids=ONE_ORDER.keys())
def test_an_order_that_shows(use: Callable[[dict[str, Any]], Any], kind: type[Given]) -> None:
    module = kind(use)
    run = export(module)
    same, other = {"a": B, "b": A}, {"b": A, "a": B}
    with pytest.raises(StructureMismatch, match="have to be in the order a, b"):
        call(kind, run, other)
    torch.testing.assert_close(call(kind, run, same), call(kind, module, same), rtol=0, atol=0)
    assert not torch.equal(call(kind, module, same), call(kind, module, other))


class Named(nn.Module):
    def forward(self, *, a: Any, b: Any) -> Any:
        d = {"a": a, "b": b}
        return weighted(d.values()), d


def test_parameters_have_no_order() -> None:
    """A dict that the program makes of its parameters has an order of its own."""
    module = Named()
    run = dynamo_lite.export(module, (), {"a": A, "b": B}).module()
    torch.testing.assert_close(run(b=A, a=B), module(b=A, a=B))


def test_only_what_shows_is_in_order() -> None:
    """`c` moves to the end: where the caller has it does not show, the order of the others does."""

    def moved(**kw: Any) -> Any:
        kw["c"] = kw.pop("c")
        return weighted(kw.values())

    run = dynamo_lite.export(moved, (), {"c": A + B, "a": A, "b": B}).module()
    torch.testing.assert_close(run(a=A, c=B, b=B), moved(a=A, c=B, b=B))
    with pytest.raises(StructureMismatch, match="order a, b,"):
        run(b=B, a=A, c=B)
