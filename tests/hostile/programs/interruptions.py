"""StopIteration, SystemExit and their like, recursion without end"""

from __future__ import annotations

import copy
from typing import Any

from tests.export.probe import equal, raises, t


def _after(error: type[BaseException], call: Any) -> Any:
    def f(x):
        try:
            call()
        except error:
            return x * 2
        return x

    return f, (t(3),)


def _raising(call: Any) -> Any:
    def f(x):
        return x * call()

    return f, (t(3),)


def _raise(error: BaseException) -> Any:
    raise error


def _exhausted(_: int) -> Any:
    return next(iter([]))


@raises
def stop_iteration():
    return _raising(lambda: _raise(StopIteration(3)))


@raises
def stop_iteration_in_a_generator():
    def numbers():
        yield 1
        raise StopIteration

    return _raising(lambda: sum(numbers()))


@raises
def stop_iteration_in_a_generator_expression():
    return _raising(lambda: sum(next(iter([])) for _ in range(2)))


@equal
def stop_iteration_in_map():
    return _raising(lambda: 1 + sum(map(_exhausted, range(2))))


@equal
def stop_iteration_caught():
    return _after(StopIteration, lambda: next(iter([])))


@raises
def stop_async_iteration():
    return _raising(lambda: _raise(StopAsyncIteration()))


@equal
def system_exit_caught():
    return _after(SystemExit, lambda: _raise(SystemExit(3)))


@equal
def keyboard_interrupt_caught():
    return _after(KeyboardInterrupt, lambda: _raise(KeyboardInterrupt()))


@equal
def generator_exit_caught():
    return _after(GeneratorExit, lambda: _raise(GeneratorExit()))


class _InstanceMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls)


class _Checked(metaclass=_InstanceMeta):
    pass


class _Endless:
    """Each of its special methods calls itself."""

    def __eq__(self, other: object) -> bool:
        return self == other

    def __lt__(self, other: object) -> bool:
        return self < other

    def __hash__(self) -> int:
        return hash(self)

    def __len__(self) -> int:
        return len(self)

    def __bool__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(self)

    def __iter__(self) -> Any:
        return iter(self)

    def __next__(self) -> Any:
        return next(self)

    def __call__(self) -> Any:
        return self()

    def __add__(self, other: Any) -> Any:
        return self + other

    def __contains__(self, value: Any) -> bool:
        return value in self

    def __getitem__(self, key: Any) -> Any:
        return self[key]

    def __format__(self, spec: str) -> str:
        return format(self, spec)

    def __index__(self) -> int:
        return [1, 2][self]  # type: ignore[call-overload, no-any-return]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copy.copy(self)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self, name + "_")

    def __enter__(self) -> Any:
        with self:
            return 1

    def __exit__(self, *details: Any) -> None:
        pass


def _within(value: Any) -> Any:
    with value:
        return 1


def _generated(n: int) -> Any:
    yield from _generated(n + 1)


def _call(n: int) -> Any:
    return _call(n + 1)


def _sort(value: Any) -> Any:
    return sorted([value], key=_sort)


ENDLESS = {
    "call": lambda: _call(0),
    "generator": lambda: next(_generated(0)),
    "key_function": lambda: _sort(1),
    "instancecheck": lambda: isinstance(3, _Checked),
    "subclasscheck": lambda: issubclass(int, _Checked),
    "eq": lambda: _Endless() == 1,
    "eq_in_a_list": lambda: [_Endless()] == [_Endless()],
    "lt": lambda: sorted([_Endless(), _Endless()]),
    "hash": lambda: hash(_Endless()),
    "hash_of_a_key": lambda: {_Endless(): 1},
    "hash_in_a_tuple": lambda: {(_Endless(), 1): 1},
    "len": lambda: len(_Endless()),
    "truth": lambda: 1 if _Endless() else 2,
    "repr": lambda: repr(_Endless()),
    "f_string": lambda: f"{_Endless()}",
    "iter": lambda: [*_Endless()],
    "next": lambda: next(_Endless()),
    "instance_called": lambda: _Endless()(),
    "add": lambda: _Endless() + 1,
    "contains": lambda: 1 in _Endless(),
    "getitem": lambda: _Endless()[1],
    "index": lambda: [1][_Endless()],
    "copy": lambda: copy.copy(_Endless()),
    "setattr": lambda: setattr(_Endless(), "a", 1),
    "with": lambda: _within(_Endless()),
    "len_in_map": lambda: list(map(len, [_Endless()])),
}


def _probes() -> dict[str, Any]:
    found = {}
    for name, call in ENDLESS.items():
        for decorate, make, word in (
            (raises, _raising, "raises"),
            (equal, lambda c: _after(RecursionError, c), "caught"),
        ):

            def build(call=call, make=make):
                return make(call)

            build.__name__ = f"endless_{name}_{word}"
            found[build.__name__] = decorate(build)
    return found


globals().update(_probes())
