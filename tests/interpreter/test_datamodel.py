"""The data model: each program gives natively and interpreted the same, and runs wholly in the interpreter."""

from __future__ import annotations

import abc
import functools
import math
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, NewType

import pytest

from tests.interpreter.hermetic import check

PROGRAMS: list[Callable[[], Any]] = []


def program(fn: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS.append(fn)
    return fn


class Number:
    """Operators with a log of what was called, defined outside the interpreted program."""

    log: list[str] = []

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: Any) -> Any:
        self.log.append("add")
        return NotImplemented if isinstance(other, Right) else type(self)(self.value + operator.index(other))

    def __radd__(self, other: Any) -> Any:
        self.log.append("radd")
        return type(self)(other + self.value)

    def __iadd__(self, other: Any) -> Any:
        self.value += other
        return self

    def __index__(self) -> int:
        return self.value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Number) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < other.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __repr__(self) -> str:
        return f"N{self.value}"

    def __format__(self, spec: str) -> str:
        return f"<{self.value}:{spec}>"


class Right:
    def __radd__(self, other: Any) -> str:
        return f"right of {other!r}"


class Loud(Number):
    def __radd__(self, other: Any) -> Any:
        return f"loud {other!r}"


@program
def binary_operators_and_reflection() -> Any:
    Number.log.clear()
    results = [Number(1) + 2, 2 + Number(1), Number(1) + Right(), Number(1) + Loud(2)]
    n = Number(5)
    n += 4
    return repr(results), n.value, list(Number.log), [1, 2, 3][Number(1)], math.gcd(Number(4), 6)


@program
def unsupported_operands() -> Any:
    return Number(1) - 3  # type: ignore[operator]


@program
def in_place_falls_back_to_binary() -> Any:
    class Adds:
        def __add__(self, other: Any) -> str:
            return f"sum with {other}"

    a: Any = Adds()
    a += 3
    return a


@program
def comparison_reflects() -> Any:
    class Small:
        def __lt__(self, other: Any) -> Any:
            return NotImplemented

    class Big:
        def __gt__(self, other: Any) -> str:
            return "reflected"

    return Small() < Big(), Number(1) == Number(1), Number(1) != Number(2), Number(1) in [Number(0), Number(1)]


@program
def comparison_unsupported() -> Any:
    return Number(1) >= 3  # type: ignore[operator]


@program
def truth_by_bool_and_len() -> Any:
    class Sized:
        def __len__(self) -> int:
            return 0

    return bool(Sized()), not Number(0), [1 if Number(2) else 2], any([Number(0), Number(1)])


@program
def truth_must_be_a_bool() -> Any:
    class Odd:
        def __bool__(self) -> Any:
            return 3

    return 1 if Odd() else 2


@program
def containers_meet_user_keys() -> Any:
    table = {Number(1): "a", Number(2): "b"}
    table[Number(1)] = "c"
    members = {Number(3), Number(3), Number(4)}
    listed = [Number(5), Number(6), Number(5)]
    listed.remove(Number(6))
    return (
        len(table), table[Number(1)], table.get(Number(9)), table.setdefault(Number(2), "z"), table.pop(Number(2)),
        len(members), Number(3) in members, members & {Number(4)} == {Number(4)}, listed.index(Number(5)),
        listed.count(Number(5)), [Number(1)] == [Number(1)], (Number(1),) < (Number(2),),
        {Number(1): 1} == {Number(1): 1},
    )  # fmt: skip


@program
def properties_and_descriptors() -> Any:
    log: list[Any] = []

    class Field:
        def __set_name__(self, owner: type, name: str) -> None:
            log.append(("named", name))
            self.name = name

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return self if instance is None else instance.__dict__.get("_" + self.name, "unset")

        def __set__(self, instance: Any, value: Any) -> None:
            instance.__dict__["_" + self.name] = value

        def __delete__(self, instance: Any) -> None:
            log.append(("deleted", self.name))

    class Record:
        field = Field()

        @property
        def doubled(self) -> Any:
            return self.field * 2

        @doubled.setter
        def doubled(self, value: Any) -> None:
            self.field = value / 2

        @functools.cached_property
        def once(self) -> str:
            log.append("computed")
            return "value"

        @classmethod
        def make(cls) -> Any:
            return cls()

        @staticmethod
        def helper() -> str:
            return "static"

    record = Record.make()
    before = record.field
    record.field = 4
    record.doubled = 20
    del record.field
    values = before, record.field, record.doubled, record.once, record.once, Record.helper()
    return values, type(Record.field).__name__, log


@program
def getattr_fallbacks() -> Any:
    class Dynamic:
        present = 1

        def __getattr__(self, name: str) -> str:
            if name.startswith("no_"):
                raise AttributeError(name)
            return "dynamic " + name

    class Total:
        def __getattribute__(self, name: str) -> Any:
            return ("all", name)

    d = Dynamic()
    return d.present, d.other, hasattr(d, "no_x"), getattr(d, "no_y", "default"), Total().anything


@program
def attribute_error_names_the_object() -> Any:
    try:
        Number(1).missing  # type: ignore[attr-defined]  # noqa: B018
    except AttributeError as error:
        return error.name, repr(error.obj), str(error)


@program
def module_getattr() -> Any:
    module = types.ModuleType("m")
    module.__getattr__ = lambda name: f"module {name}"  # type: ignore[method-assign]
    return module.thing


@program
def slots_and_setattr() -> Any:
    class Slotted:
        __slots__ = ("a",)

    class Watched:
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, ("set", value))

        def __delattr__(self, name: str) -> None:
            object.__delattr__(self, name)

    s, w = Slotted(), Watched()
    s.a = 1
    w.x = 2
    try:
        s.b = 3  # type: ignore[attr-defined]
    except AttributeError as error:
        message = str(error)
    first = w.x
    del w.x
    return s.a, first, message, hasattr(w, "x")


@program
def metaclass_and_class_creation() -> Any:
    log: list[Any] = []

    class Meta(type):
        @classmethod
        def __prepare__(mcs, name: str, bases: Any, **kwargs: Any) -> dict[str, Any]:
            return {"prepared": True}

        def __new__(mcs, name: str, bases: Any, namespace: Any, **kwargs: Any) -> Any:
            log.append(("new", name, sorted(kwargs)))
            return super().__new__(mcs, name, bases, dict(namespace))

        def __init__(cls, name: str, bases: Any, namespace: Any, **kwargs: Any) -> None:
            super().__init__(name, bases, namespace)

        def __call__(cls, *args: Any) -> Any:
            log.append(("call", cls.__name__))
            return super().__call__(*args)

        def __getitem__(cls, key: Any) -> Any:
            return ("item", key)

        def __len__(cls) -> int:
            return 7

        def __instancecheck__(cls, instance: Any) -> bool:
            return instance == 3

        @property
        def meta_attribute(cls) -> str:
            return "from the metaclass"

    class Base(metaclass=Meta, keyword=1):
        def __init__(self, x: int) -> None:
            self.x = x

        def __init_subclass__(cls, **kwargs: Any) -> None:
            log.append(("subclass", cls.__name__, kwargs))

    class Derived(Base, flag=True):  # type: ignore[call-arg]
        pass

    made = Derived(5)
    dynamic = Meta("Dynamic", (Base,), {})
    return (made.x, Derived[1], len(Derived), isinstance(3, Derived), Derived.meta_attribute, Derived.prepared,
            dynamic.__module__ == __name__, log)  # fmt: skip


@program
def new_without_init_and_wrong_init() -> Any:
    class Other:
        def __new__(cls, *args: Any) -> Any:
            return [cls.__name__, *args]

    class Bad:
        def __init__(self) -> Any:
            return 3

    try:
        Bad()
    except TypeError as error:
        return Other(1, 2), str(error)


@program
def object_rejects_arguments() -> Any:
    class Plain:
        pass

    return Plain(1)  # type: ignore[call-arg]


@program
def subclasses_of_builtins() -> Any:
    class Keys(dict):  # type: ignore[type-arg]
        def __missing__(self, key: Any) -> str:
            return f"no {key}"

        def __contains__(self, key: Any) -> bool:
            return True

    class Upper(str):
        def __new__(cls, value: str) -> Any:
            return super().__new__(cls, value.upper())

    class Seconds(int):
        def __add__(self, other: Any) -> Any:
            return Seconds(int(self) + int(other))

    return Keys()["x"], "y" in Keys(), Upper("abc"), type(Seconds(1) + 2).__name__, sum([Seconds(1), Seconds(2)])


@program
def iteration_protocols() -> Any:
    class Countdown:
        def __init__(self, n: int) -> None:
            self.n = n

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            self.n -= 1
            if self.n < 0:
                raise StopIteration
            return self.n

        def __length_hint__(self) -> int:
            return 3

    class Old:
        def __getitem__(self, i: int) -> int:
            if i > 3:
                raise IndexError
            return i * i

    class Lazy:
        def __iter__(self) -> Iterator[int]:
            yield from (1, 2, 3)

        def __reversed__(self) -> Iterator[int]:
            yield from (3, 2, 1)

    a, *rest = Old()
    x, y, z = Lazy()
    unpacked = a, rest, x + y + z, [*Lazy()]
    return list(Countdown(3)), list(Old()), 9 in Old(), unpacked, list(reversed(Lazy())), tuple(Lazy())


@program
def not_iterable() -> Any:
    for x in Right():  # type: ignore[attr-defined]
        return x


@program
def subscripts() -> Any:
    class Box:
        def __init__(self) -> None:
            self.log: list[Any] = []

        def __getitem__(self, key: Any) -> Any:
            return key

        def __setitem__(self, key: Any, value: Any) -> None:
            self.log.append((key, value))

        def __delitem__(self, key: Any) -> None:
            self.log.append(key)

        def __class_getitem__(cls, key: Any) -> Any:
            return ("class", key)

    box = Box()
    box[1] = 2
    box[1:2] = 3
    del box["x"]
    return box[0], box[1:2, ...], Box[int], box.log


@program
def calls_of_every_callable() -> Any:
    class Adder:
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return args, kwargs

    class Nested:
        inner = Adder()

    return Adder()(1, k=2), Nested().inner(3), functools.partial(Adder(), 1, a=2)(3, b=4), list(map(Adder(), [1]))


@program
def abstract_classes_and_hooks() -> Any:
    class Closeable(abc.ABC):
        @abc.abstractmethod
        def close(self) -> None: ...

        @classmethod
        def __subclasshook__(cls, other: type) -> Any:
            return True if any("close" in vars(base) for base in other.__mro__) else NotImplemented

    class File:
        def close(self) -> None: ...

    class Tuple:
        pass

    Closeable.register(Tuple)
    try:
        Closeable()  # type: ignore[abstract]
    except TypeError as error:
        message = str(error)
    return isinstance(File(), Closeable), isinstance(3, (str, Closeable)), issubclass(Tuple, Closeable), message


@program
def star_arguments_and_their_errors() -> Any:
    class Mapping:
        def keys(self) -> list[str]:
            return ["a", "b"]

        def __getitem__(self, key: str) -> str:
            return key * 2

    def f(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    errors = []
    for call in (lambda: f(**3), lambda: f(*3), lambda: f(a=1, **{"a": 2}), lambda: f(**{1: 2})):  # type: ignore
        try:
            call()
        except TypeError as error:
            errors.append(str(error))
    return f(*Mapping().keys(), **Mapping()), errors


@program
def class_mutated_after_use() -> Any:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    p, q = Point(1), Point(1)
    before = p == q
    Point.__eq__ = lambda self, other: self.x == other.x  # type: ignore[method-assign, assignment]
    Point.norm = property(lambda self: self.x * 10)  # type: ignore[attr-defined]
    return before, p == q, [p] == [q], p.norm  # type: ignore[attr-defined]


@program
def special_methods_written_in_c() -> Any:
    class Bound:
        """Builtin functions do not bind: they get no `self`."""

        __call__ = abs
        __iter__ = [1, 2].__iter__
        __add__ = (5).__add__
        __str__ = "abc".upper
        __eq__ = (3).__eq__  # type: ignore[assignment]
        __hash__ = (3).__hash__
        __lt__ = (3).__lt__
        __getattr__ = {"name": 7}.get
        __format__ = "<{}>".format
        __index__ = (1).__index__
        __bool__ = [1].__len__
        __neg__ = staticmethod(lambda: 9)

    bound: Any = Bound()
    said = [bound(-3), list(bound), bound + 3, str(bound), bound == 3, hash(bound), bound < 4, bound.name, -bound]
    try:
        bool(bound)
    except TypeError as error:
        said.append(str(error))
    return said, f"{bound:w}", [1, 9][bound], NewType("U", int)(5)


@program
def formatting() -> Any:
    n = Number(3)
    formatted = "%r %s" % (n, n), "{:y}".format(n), "{.value}".format(n)  # noqa: UP031, UP032
    return f"{n:>4} {n!r} {n}", f"{n:x}", formatted, str([n]), repr({n: n})


@program
def the_program_sees_its_own_code() -> Any:
    def f(a: int, b: int = 2) -> int:
        return a + b

    sorted([3, 1], key=f)
    return f.__code__.co_name, f.__code__.co_varnames, f.__code__.co_consts, Number.__add__.__code__.co_argcount


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_same_result_and_hermetic(fn: Callable[[], Any]) -> None:
    check(fn)


def test_functions_have_their_own_code_again_afterwards() -> None:
    code = Number.__add__.__code__
    check(binary_operators_and_reflection)
    assert Number.__add__.__code__ is code
