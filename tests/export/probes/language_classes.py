"""Classes, descriptors, attributes, operators, dataclasses, enums."""

# Programs as users write them, odd ones too.
# ruff: noqa: B008, B015, SIM212
# ruff: noqa: E731

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import torch
from torch import nn

from ..probe import equal, t


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
def class_made_in_forward():
    def forward(x):
        class Box:
            size = 3

            def __init__(self, v):
                self.v = v

            def scaled(self):
                return self.v * self.size

        return Box(x).scaled()

    return forward, (t(3),)


@equal
def metaclass_call():
    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.extra = 10
            return made

    class Box(metaclass=Meta):
        def __init__(self, v):
            self.v = v

    def forward(x):
        return Box(x).v + Box(x).extra

    return forward, (t(3),)


@equal
def metaclass_attributes_and_getitem():
    class Meta(type):
        def __getitem__(cls, n):
            return n + cls.base

        @property
        def base(cls):
            return 5

    class Box(metaclass=Meta):
        pass

    def forward(x):
        return x * Box[2]

    return forward, (t(3),)


@equal
def init_subclass_and_set_name():
    class Field:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, owner=None):
            return obj.values[self.name] if obj is not None else self

    class Base:
        made = ()

        def __init_subclass__(cls, scale=1, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.scale = scale

    def forward(x):
        class Child(Base, scale=3):
            f = Field()

            def __init__(self):
                self.values = {"f": x}

        return Child().f * Child.scale

    return forward, (t(3),)


@equal
def data_and_non_data_descriptors():
    class Data:
        def __get__(self, obj, owner):
            return obj.__dict__["hidden"] * 2

        def __set__(self, obj, value):
            obj.__dict__["hidden"] = value + 1

    class NonData:
        def __get__(self, obj, owner):
            return 100

    class Box:
        d = Data()
        n = NonData()

    def forward(x):
        box = Box()
        box.d = x
        before = box.n
        box.__dict__["n"] = 7
        return box.d + before + box.n

    return forward, (t(3),)


@equal
def property_getter_and_setter():
    class Box:
        def __init__(self, v):
            self._v = v

        @property
        def v(self):
            return self._v * 2

        @v.setter
        def v(self, new):
            self._v = new - 1

        @v.deleter
        def v(self):
            self._v = torch.zeros(3)

    def forward(x):
        box = Box(x)
        box.v = x * 3
        a = box.v
        del box.v
        return a, box.v

    return forward, (t(3),)


@equal
def property_on_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(t(3))

        @property
        def doubled(self):
            return self.w * 2

        def forward(self, x):
            return x * self.doubled

    return M(), (t(3),)


@equal
def getattr_fallback():
    class Lazy:
        def __getattr__(self, name):
            if name.startswith("times"):
                n = int(name[5:])
                return lambda x: x * n
            raise AttributeError(name)

    def forward(x):
        lazy = Lazy()
        return lazy.times3(x) + (1 if hasattr(lazy, "other") else 2) + getattr(lazy, "missing", 5)

    return forward, (t(3),)


@equal
def getattribute_override():
    class Watched:
        def __init__(self, v):
            self.v = v
            self.reads = 0

        def __getattribute__(self, name):
            if name == "v":
                self.reads += 1
            return object.__getattribute__(self, name)

    def forward(x):
        w = Watched(x)
        return w.v + w.v, w.reads

    return forward, (t(3),)


@equal
def getattribute_override_from_outside():
    class Config:
        attribute_map = {"hidden": "width"}

        def __init__(self):
            self.width = 4

        def __getattribute__(self, name):
            if name != "attribute_map" and name in object.__getattribute__(self, "attribute_map"):
                name = object.__getattribute__(self, "attribute_map")[name]
            return object.__getattribute__(self, name)

    config = Config()

    def forward(x):
        return x * config.hidden

    return forward, (t(3),)


@equal
def slots():
    class Slim:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    def forward(x):
        s = Slim(x)
        try:
            return s.b
        except AttributeError:
            s.b = s.a * 2
        return s.b

    return forward, (t(3),)


@equal
def user_operators():
    class V:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return V(self.v + getattr(other, "v", other))

        def __radd__(self, other):
            return V(other - self.v)

        def __iadd__(self, other):
            self.v = self.v + 100
            return self

        def __neg__(self):
            return V(-self.v)

        def __matmul__(self, other):
            return V(self.v @ other.v)

        def __getitem__(self, i):
            return V(self.v[i])

        def __len__(self):
            return 7

        def __bool__(self):
            return False

        def __contains__(self, item):
            return item == 3

        def __call__(self, n):
            return V(self.v * n)

        def __eq__(self, other):
            return self.v.shape == other.v.shape

        def __hash__(self):
            return 1

    def forward(x):
        a, b = V(x), V(x + 1)
        c = (a + b) @ b
        d = 2.0 + c
        d += 1
        e = -d(2)[0] if not a else a
        return e.v, len(a), 3 in a, 4 in a, a == b, {a: 1}[b]

    return forward, (t(3, 3),)


@equal
def reflected_operator_of_a_subclass_goes_first():
    class A:
        def __sub__(self, other):
            return "A.sub"

    class B(A):
        def __rsub__(self, other):
            return "B.rsub"

    def forward(x):
        return x + 1, A() - B(), B() - A(), A() - A()

    return forward, (t(3),)


@equal
def not_implemented_falls_back():
    class Metres:
        def __init__(self, v):
            self.v = v

        def __mul__(self, other):
            if isinstance(other, Metres):
                return NotImplemented
            return Metres(self.v * other)

        def __lt__(self, other):
            return NotImplemented

    def forward(x):
        m = Metres(x) * 3
        try:
            m * m
        except TypeError:
            y = m.v + 1
        try:
            m < m
        except TypeError:
            y = y + 1
        return y

    return forward, (t(3),)


@equal
def comparisons_drive_sorting():
    @functools.total_ordering
    class Item:
        def __init__(self, rank, v):
            self.rank, self.v = rank, v

        def __eq__(self, other):
            return self.rank == other.rank

        def __lt__(self, other):
            return self.rank < other.rank

    def forward(x):
        items = [Item(3, x), Item(1, x * 2), Item(2, x * 3)]
        best = max(items)
        return [i.v for i in sorted(items)], best.v, Item(1, x) >= Item(1, x)

    return forward, (t(3),)


@equal
def user_hash_and_eq_in_dicts_and_sets():
    class Key:
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return hash(self.name.lower())

        def __eq__(self, other):
            return self.name.lower() == other.name.lower()

    def forward(x):
        d = {Key("a"): x}
        d[Key("A")] = x * 2
        d.setdefault(Key("b"), x * 3)
        s = {Key("q"), Key("Q"), Key("r")}
        return d[Key("a")] + d.get(Key("B")) + len(s), Key("R") in s, [Key("z")].index(Key("Z"))

    return forward, (t(3),)


@equal
def user_iterator_protocols():
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            self.i = 0
            return self

        def __next__(self):
            if self.i == self.n:
                raise StopIteration
            self.i += 1
            return self.i

    class Old:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError(i)
            return i * 10

    class Back:
        def __reversed__(self):
            return iter([3, 2])

    def forward(x):
        a = [x * i for i in Count(3)]
        first, *rest = Old()
        return a, x * sum(rest) + first + sum(reversed(Back())), 20 in Old()

    return forward, (t(3),)


@equal
def super_forms():
    class A:
        scale = 2

        def f(self, x):
            return x * self.scale

        @classmethod
        def make(cls):
            return cls()

        @staticmethod
        def g(x):
            return x - 1

    class B(A):
        scale = 3

        def f(self, x):
            return super().f(x) + super().f(x)

        @classmethod
        def make(cls):
            made = super().make()
            made.scale = 5
            return made

        @staticmethod
        def g(x):
            return A.g(x) * 2

    class C(B):
        def f(self, x):
            inner = lambda s=super(): s.f(x)
            return inner() + super().g(x)

    def forward(x):
        return C.make().f(x)

    return forward, (t(3),)
