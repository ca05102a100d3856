"""Containers of the user's own and of the standard library."""

from __future__ import annotations

import collections
import heapq
import itertools
import types
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def simple_namespace() -> Changes:
    made = _of(lambda s: s.a.b.n, a=types.SimpleNamespace(b=types.SimpleNamespace(n=3)))
    made.told = {"value": setter(made.program.held.a.b, "n", 5)}
    return made


@row
def simple_namespace_compared() -> Changes:
    made = _of(lambda s: 2 if s.a == types.SimpleNamespace(n=3) else 5, a=types.SimpleNamespace(n=3))
    made.told = {"value": setter(made.program.held.a, "n", 5)}
    return made


class _Ring:
    """A container of the user's own."""

    def __init__(self, *items: Any) -> None:
        self.items = [*items]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index % len(self.items)]

    def __contains__(self, value: Any) -> bool:
        return value in self.items

    def __eq__(self, other: Any) -> bool:
        return self.items == getattr(other, "items", other)

    __hash__ = None  # type: ignore[assignment]


@row
def user_container() -> Changes:
    made = _of(lambda s: s.r[4] + len(s.r) + (3 in s.r) + (s.r == [1, 2, 3]), r=_Ring(1, 2, 3))
    items = made.program.held.r.items
    made.told = {"item": item(items, 1, 5), "length": lambda: items.append(1), "in": item(items, 2, 7)}
    return made


class _Lazy(collections.UserDict):  # type: ignore[type-arg]
    pass


@row
def user_dict() -> Changes:
    made = _of(lambda s: s.u["n"] + len(s.u) + s.u.get("m", 1), u=_Lazy(n=3))
    made.told = {"value": item(made.program.held.u, "n", 4), "one more": item(made.program.held.u, "m", 4)}
    return made


@row
def user_list_and_string() -> Changes:
    made = _of(lambda s: sum(s.u) + len(s.t.upper()), u=collections.UserList([1, 2]), t=collections.UserString("ab"))
    made.told = {"item": item(made.program.held.u, 0, 4), "text": setter(made.program.held.t, "data", "abc")}
    return made


@row
def chain_map() -> Changes:
    maps = {"n": 3}, {"n": 4, "m": 5}
    made = _of(lambda s: s.c["n"] + s.c["m"], c=collections.ChainMap(*maps))
    made.told = {"first": item(maps[0], "n", 9), "shadow": item(maps[0], "m", 9), "second": item(maps[1], "m", 8)}
    made.held = {"hidden": item(maps[1], "n", 9)}
    return made


@row
def counter() -> Changes:
    made = _of(lambda s: s.c["a"] + s.c["z"] + s.c.total() + s.c.most_common(1)[0][1], c=collections.Counter("aab"))
    made.told = {"count": item(made.program.held.c, "b", 4), "one more": item(made.program.held.c, "z", 1)}
    return made


@row
def default_dict() -> Changes:
    made = _of(lambda s: s.d.default_factory() + s.d["n"], d=collections.defaultdict(lambda: 3, n=2))
    made.told = {"factory": setter(made.program.held.d, "default_factory", lambda: 4)}
    return made


@row
def ordered_dict_reversed() -> Changes:
    made = _of(lambda s: next(reversed(s.d.values())), d=collections.OrderedDict(a=1, b=2))
    made.told = {"order": lambda: made.program.held.d.move_to_end("a"), "value": item(made.program.held.d, "b", 5)}
    return made


@row
def bounded_deque() -> Changes:
    made = _of(lambda s: s.d.maxlen + s.d[-1], d=collections.deque([1, 2], maxlen=3))
    made.told = {
        "length": setter(made.program.held, "d", collections.deque([1, 2], maxlen=4)),
        "item": item(made.program.held.d, 1, 5),
    }
    return made


@row
def heap_of_a_list() -> Changes:
    made = _of(lambda s: heapq.nsmallest(1, s.xs)[0] + max(s.xs), xs=[3, 4])
    made.told = {"item": item(made.program.held.xs, 1, 1)}
    return made


@row
def nested_containers() -> Changes:
    deep = {"a": [({1, 2}, [Box(n=3)])]}
    made = _of(lambda s: s.d["a"][0][1][0].n + len(s.d["a"][0][0]), d=deep)
    made.told = {"attribute": setter(deep["a"][0][1][0], "n", 5), "set": lambda: deep["a"][0][0].add(3)}
    return made


@row
def views_of_a_dict() -> Changes:
    inner = {"a": 1, "b": 2}
    made = _of(lambda s: sum(s.v) + len(s.k), v=inner.values(), k=inner.keys())
    made.told = {"value": item(inner, "b", 5), "one more": item(inner, "c", 0)}
    return made


@row
def set_operations() -> Changes:
    made = _of(lambda s: len(s.a & s.b) + (s.a <= s.b) + 1, a={1, 2}, b={1, 2, 3})
    made.told = {"left": lambda: made.program.held.a.add(9), "right": lambda: made.program.held.b.discard(1)}
    return made


@row
def product_of_state() -> Changes:
    made = _of(lambda s: sum(a * b for a, b in itertools.product(s.xs, repeat=2)), xs=[1, 2])
    made.told = {"item": item(made.program.held.xs, 1, 5)}
    return made


@row
def range_kept() -> Changes:
    made = _of(lambda s: sum(s.r), r=range(4))
    made.told = {"range": setter(made.program.held, "r", range(5))}
    return made


@row
def slice_kept() -> Changes:
    made = Changes(Module(lambda s, x: x[:, s.cut], cut=slice(1)), {})
    made.told = {"slice": setter(made.program.held, "cut", slice(2))}
    return made


@row
def exception_arguments() -> Changes:
    made = _of(lambda s: s.e.args[0] + len(str(s.e)), e=ValueError(3))
    made.told = {"arguments": setter(made.program.held.e, "args", (5,))}
    return made


@row
def list_subclass_with_attributes() -> Changes:
    class Tagged(list):  # type: ignore[type-arg]
        tag = 1

    made = _of(lambda s: sum(s.t) + s.t.tag, t=Tagged([1, 2]))
    held = made.program.held
    made.told = {"item": item(held.t, 0, 5), "tag": setter(held.t, "tag", 7), "class": setter(Tagged, "tag", 8)}
    return made
