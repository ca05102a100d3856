"""Classes, continued: dataclasses, enums, named tuples, dispatch, formatting, attributes."""

# Programs as users write them, odd ones too.
# ruff: noqa: UP031, UP032

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import NamedTuple

import torch
from torch import nn

from ..probe import equal, raises, refused, sound, t


class Mode(enum.Enum):
    ADD = "add"
    MUL = "mul"

    def apply(self, x):
        return x + 1 if self is Mode.ADD else x * 2


class Flag(enum.IntFlag):
    A = enum.auto()
    B = enum.auto()


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor
    label: str = "none"


@equal
def diamond_inheritance():
    class Base:
        def f(self, x):
            return x

    class Left(Base):
        def f(self, x):
            return super().f(x) * 2

    class Right(Base):
        def f(self, x):
            return super().f(x) + 3

    class Both(Left, Right):
        def f(self, x):
            return super().f(x) - 1

    def forward(x):
        return Both().f(x), [c.__name__ for c in Both.__mro__]

    return forward, (t(3),)


@equal
def new_and_singletons():
    class Small(int):
        def __new__(cls, v):
            return super().__new__(cls, v * 2)

        def __add__(self, other):
            return Small(int(self) + int(other))

    def forward(x):
        return x * Small(2) + (Small(1) + 1)

    return forward, (t(3),)


@equal
def dataclasses_of_all_kinds():
    @dataclasses.dataclass(order=True)
    class Config:
        scale: float = 2.0
        parts: list = dataclasses.field(default_factory=list)
        total: float = dataclasses.field(init=False, compare=False)

        def __post_init__(self):
            self.total = self.scale + len(self.parts)

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        v: int

    def forward(x):
        c = Config(3.0, [1, 2])
        d = dataclasses.replace(c, scale=1.0)
        try:
            Frozen(1).v = 2
        except dataclasses.FrozenInstanceError:
            x = x + Frozen(4).v
        return x * c.total * d.scale, d < c, dataclasses.asdict(d), {Frozen(1): "one"}[Frozen(1)]

    return forward, (t(3),)


@equal
def dataclass_made_in_forward():
    def forward(x):
        @dataclasses.dataclass
        class Out:
            a: torch.Tensor
            n: int = 3

        out = Out(x)
        return out.a * out.n

    return forward, (t(3),)


@equal
def enums():
    def forward(x):
        y = Mode.ADD.apply(x) + Mode("mul").apply(x)
        flags = Flag.A | Flag.B
        return y * len(list(Mode)), Mode["ADD"].name, Flag.A in flags, int(flags)

    return forward, (t(3),)


@equal
def enum_made_in_forward():
    def forward(x):
        class Kind(enum.IntEnum):
            ONE = 1
            TWO = 2

        return x * sum(Kind) + Kind.TWO

    return forward, (t(3),)


@equal
def named_tuples():
    def forward(x):
        p = Pair(x, b=x + 1)
        q = p._replace(label="q")
        a, b, label = q
        return a * b, label, q._fields, q.b is b, p == p

    return forward, (t(3),)


@equal
def namedtuple_returned():
    def forward(x):
        return Pair(x + 1, x * 2, "both")

    return forward, (t(3),)


@equal
def cached_property_on_young_object():
    class Box:
        def __init__(self, x):
            self.x = x
            self.made = 0

        @functools.cached_property
        def big(self):
            self.made += 1
            return self.x * 2

    def forward(x):
        b = Box(x)
        return b.big + b.big, b.made

    return forward, (t(3),)


@equal
def cached_property_of_the_module_is_python_value():
    class M(nn.Module):
        @functools.cached_property
        def scale(self):
            return 2.0 * 3

        def forward(self, x):
            return x * self.scale

    return M(), (t(3),)


@sound()
def cached_property_of_the_module_is_a_tensor():
    class M(nn.Module):
        @functools.cached_property
        def table(self):
            return torch.arange(3.0)

        def forward(self, x):
            return x * self.table

    return M(), (t(3),)


@equal
def singledispatch_on_types():
    @functools.singledispatch
    def f(v):
        return "other"

    @f.register
    def _(v: int):
        return v * 2

    @f.register(torch.Tensor)
    def _(v):
        return v + 1

    @f.register(list)
    def _(v):
        return [f(i) for i in v]

    def forward(x):
        return f([x, 3, "s"])

    return forward, (t(3),)


@equal
def singledispatchmethod():
    class P:
        @functools.singledispatchmethod
        def go(self, v):
            return v

        @go.register
        def _(self, v: int):
            return v + 100

    def forward(x):
        return P().go(x) * P().go(1)

    return forward, (t(3),)


@equal
def isinstance_hooks_and_abc():
    import abc

    class Even(type):
        def __instancecheck__(cls, v):
            return v % 2 == 0

    class E(metaclass=Even):
        pass

    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        @classmethod
        def __subclasshook__(cls, other):
            return hasattr(other, "area") or NotImplemented

    class Sq:
        def area(self):
            return 4

    def forward(x):
        y = x * 2 if isinstance(4, E) and not isinstance(3, E) else x
        try:
            Shape()
        except TypeError:
            y = y + 1
        return y, isinstance(Sq(), Shape), issubclass(int, Shape)

    return forward, (t(3),)


@equal
def type_of_tensor_and_parameter():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(t(3))

        def forward(self, x):
            facts = (
                type(x) is torch.Tensor,
                type(self.w) is nn.Parameter,
                isinstance(self.w, nn.Parameter),
                isinstance(x, nn.Parameter),
                x.__class__ is torch.Tensor,
                type(x * 2).__name__,
                isinstance(x.shape[0], int),
                type(x.shape) is torch.Size,
                isinstance(x, torch.FloatTensor),
            )
            return x * self.w, facts

    return M(), (t(3),)


@equal
def type_made_with_three_arguments():
    def forward(x):
        Box = type("Box", (), {"f": lambda self, v: v * self.k, "k": 3})
        return Box().f(x)

    return forward, (t(3),)


@equal
def class_getitem_and_missing():
    class Table(dict):
        def __missing__(self, key):
            self[key] = key * 2
            return self[key]

        def __class_getitem__(cls, item):
            return (cls.__name__, item)

    def forward(x):
        table = Table()
        return x * table[3] + len(table), Table[int][0]

    return forward, (t(3),)


@equal
def format_protocol():
    class Temp:
        def __format__(self, spec):
            return f"<{spec}>"

        def __repr__(self):
            return "Temp!"

        def __str__(self):
            return "temp"

    def forward(x):
        texts = (f"{Temp():>3}", f"{Temp()!r}", "{}".format(Temp()), "%s-%r" % (Temp(), Temp()), str(Temp()))
        return x * len("".join(texts)), texts

    return forward, (t(3),)


@equal
def inherit_from_list_and_dict():
    class Stack(list):
        def push(self, v):
            self.append(v)
            return self

        def __getitem__(self, i):
            return super().__getitem__(i) * 2

    def forward(x):
        s = Stack().push(x).push(x + 1)
        return s[0] + s[-1] + len(s)

    return forward, (t(3),)


@refused("python-state")
def class_attribute_counts():
    class M(nn.Module):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x * type(self).calls

    return M(), (t(3),)


@raises
def abstract_attribute_error():
    class Box:
        pass

    def forward(x):
        return Box().missing + x

    return forward, (t(3),)


@equal
def attribute_error_carries_name():
    class Box:
        pass

    def forward(x):
        try:
            return Box().missing
        except AttributeError as error:
            return x * len(error.name), error.obj.__class__.__name__, str(error)

    return forward, (t(3),)


@equal
def weak_reference_to_young_object():
    import weakref

    class Box:
        pass

    def forward(x):
        box = Box()
        box.v = x
        ref = weakref.ref(box)
        return ref().v * 2

    return forward, (t(3),)


@equal
def object_hash_as_dictionary_key():
    class Box:
        pass

    def forward(x):
        a, b = Box(), Box()
        d = {a: x, b: x * 2}
        return d[a] + d[b]

    return forward, (t(3),)


@sound("tensor-repr", "unrecordable-id", "data-dependent-value")
def default_repr_shows_an_address():
    class Box:
        pass

    def forward(x):
        return x, repr(Box())[:5]

    return forward, (t(3),)
