"""Less usual places of state: bound methods, class hooks, maps over maps, contexts, buffers of bytes."""

from __future__ import annotations

import array
import collections
import contextvars
import decimal
import enum
import fractions
import functools
import operator
import string
import threading
import types
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **attributes: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **attributes), {})


@row
def traps_of_the_decimal_context() -> Changes:
    def forward(s: Any) -> int:
        return 2 if decimal.getcontext().traps[decimal.Inexact] else 1

    def change() -> Any:
        traps = decimal.getcontext().traps
        traps[decimal.Inexact] = True
        return lambda: traps.__setitem__(decimal.Inexact, False)

    made = _of(forward)
    made.told = {"trap": change}
    return made


@row
def class_attribute_of_a_metaclass() -> Changes:
    class Meta(type):
        scale = 2

    class Kind(metaclass=Meta):
        pass

    made = _of(lambda s: s.kind.scale, kind=Kind)
    made.told = {"metaclass": setter(Meta, "scale", 10), "class": setter(Kind, "scale", 7)}
    return made


@row
def getattr_of_a_metaclass() -> Changes:
    values = {"scale": 2}

    class Meta(type):
        def __getattr__(cls, name: str) -> int:
            return values[name]

    class Kind(metaclass=Meta):
        pass

    made = _of(lambda s: s.kind.scale, kind=Kind)
    made.told = {"value": item(values, "scale", 10), "class": setter(Kind, "scale", 7)}
    return made


@row
def length_of_dir() -> Changes:
    box = Box(a=1)
    made = _of(lambda s: len([name for name in dir(s.b) if name.startswith("z")]) + 1, b=box)
    made.told = {"attribute": setter(box, "zed", 1)}
    return made


@row
def own_dir() -> Changes:
    class Listed:
        def __init__(self) -> None:
            self.names = ["a", "b"]

        def __dir__(self) -> list[str]:
            return self.names

    listed = Listed()
    made = _of(lambda s: len(dir(s.b)), b=listed)
    made.told = {"names": setter(listed, "names", ["a"])}
    return made


@row
def keys_that_dict_asks_for() -> Changes:
    class Mapping:
        def __init__(self) -> None:
            self.names = ["a", "b"]

        def keys(self) -> list[str]:
            return self.names

        def __getitem__(self, name: str) -> int:
            return ord(name)

    mapping = Mapping()
    made = _of(lambda s: len(dict(s.b)) + len({**s.b}), b=mapping)
    made.told = {"names": setter(mapping, "names", ["a"]), "a name": lambda: mapping.names.append("c")}
    return made


@row
def lists_as_sort_keys() -> Changes:
    boxes = [Box(order=[1, 2], m=3), Box(order=[2, 1], m=4)]
    made = _of(
        lambda s: sorted(s.boxes, key=lambda b: b.order)[0].m + 2 * max(s.boxes, key=lambda b: (b.order, 1)).m,
        boxes=boxes,
    )
    made.told = {"item": item(boxes[0].order, 0, 9)}
    return made


@row
def thread_local_attribute() -> Changes:
    local = threading.local()
    local.n = 2
    made = _of(lambda s: s.local.n, local=local)
    made.told = {"value": setter(local, "n", 5)}
    made.held = {"another": setter(local, "m", 5)}
    return made


@row
def attribute_of_a_partial() -> Changes:
    made = functools.partial(operator.add, 1)
    made.n = 2
    changes = _of(lambda s: s.p.n + s.p(1), p=made)
    changes.told = {"value": setter(made, "n", 5)}
    return changes


@row
def chain_of_maps() -> Changes:
    first, second = {"a": 1}, {"b": 2}
    made = _of(lambda s: s.maps["b"], maps=collections.ChainMap(first, second))
    made.told = {"hidden": item(first, "b", 9), "value": item(second, "b", 8)}
    made.held = {"another": item(first, "c", 9)}
    return made


@row
def proxy_of_a_class() -> Changes:
    class Kind:
        n = 2

    made = _of(lambda s: s.names["n"], names=Kind.__dict__)
    made.told = {"value": setter(Kind, "n", 3)}
    return made


@row
def simple_namespace() -> Changes:
    space = types.SimpleNamespace(n=2)
    made = _of(lambda s: 2 if s.space == types.SimpleNamespace(n=2) else 1, space=space)
    made.told = {"value": setter(space, "n", 3), "another": setter(space, "m", 3)}
    return made


@row
def bytes_through_a_memoryview() -> Changes:
    buffer = bytearray(b"\x02\x03")
    made = _of(lambda s: s.view[0], view=memoryview(buffer))
    made.told = {"byte": item(buffer, 0, 9)}
    return made


@row
def typed_array() -> Changes:
    values = array.array("i", [2, 3])
    made = _of(lambda s: sum(s.values), values=values)
    made.told = {"item": item(values, 1, 9)}
    return made


@row
def default_of_a_context_variable() -> Changes:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("n", default=2)
    made = _of(lambda s: s.variable.get(), variable=variable)

    def change() -> Any:
        token = variable.set(7)
        return lambda: variable.reset(token)

    made.told = {"value": change}
    return made


@row
def fields_of_a_template() -> Changes:
    box = Box(n=2)
    made = _of(lambda s: len(string.Template("$n").substitute(n=s.b.n)), b=box)
    made.told = {"value": setter(box, "n", 222)}
    return made


@row
def fraction() -> Changes:
    box = Box(n=fractions.Fraction(4, 2))
    made = _of(lambda s: int(s.b.n * 2), b=box)
    made.told = {"value": setter(box, "n", fractions.Fraction(9, 3))}
    return made


@row
def members_of_an_enum() -> Changes:
    class Kind(enum.Enum):
        A = 1
        B = 2

    made = _of(lambda s: len(s.kind) + s.kind.A.weight, kind=Kind)
    Kind.A.weight = 3  # type: ignore[attr-defined]
    made.told = {"attribute of a member": setter(Kind.A, "weight", 5)}
    return made


@row
def method_of_an_instance_that_is_replaced() -> Changes:
    class Counter:
        def n(self) -> int:
            return 2

    counter = Counter()
    made = _of(lambda s: s.counter.n(), counter=counter)
    made.told = {"instance": setter(counter, "n", lambda: 5), "class": setter(Counter, "n", lambda self: 6)}
    return made


@row
def weak_dictionary() -> Changes:
    import weakref

    key = Box(n=1)
    table = weakref.WeakKeyDictionary({key: 2})
    made = _of(lambda s: s.table[s.key], table=table, key=key)
    made.told = {"value": lambda: table.__setitem__(key, 5)}
    return made


@row
def order_of_keyword_defaults() -> Changes:
    def scaled(*, n: int = 2) -> int:
        return n

    made = _of(lambda s: s.scaled(), scaled=scaled)
    made.told = {"default": item(scaled.__kwdefaults__, "n", 5)}
    return made


@row
def cell_of_a_function_that_is_called() -> Changes:
    n = 2

    def inner() -> int:
        return n

    made = _of(lambda s: s.inner(), inner=inner)

    def change() -> None:
        nonlocal n
        n = 5

    made.told = {"cell": change}
    return made
