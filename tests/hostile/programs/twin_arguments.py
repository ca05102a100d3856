"""Containers and objects that are two arguments at once, or in two places of one"""

from __future__ import annotations

from typing import Any

from torch.utils import _pytree as pytree

from tests.export.probe import Case, Probe, equal, refused, t


class Pair:
    def __init__(self, x: Any) -> None:
        self.x = x


class Registered(Pair):
    pass


pytree.register_pytree_node(
    Registered, lambda p: ([p.x], None), lambda parts, _: Registered(parts[0]),
    serialized_type_name=f"{__name__}.Registered",
)  # fmt: skip

MADE = {
    "list": lambda: [t(2)],
    "dict": lambda: {0: t(2)},
    "object": lambda: Pair(t(2)),
    "box": lambda: Registered(t(2)),
}


def _first(value: Any) -> Any:
    return value.x if isinstance(value, Pair) else value[0]


def _compared(a: Any, b: Any) -> Any:
    return _first(a) * (2 if a is b else 3)


def _read(a: Any, b: Any) -> Any:
    return _first(a) * (2 if _first(a) is _first(b) else 3)


def _written(a: Any, b: Any) -> Any:
    if isinstance(a, list):
        a.append(a[0] * 2)
        return b[-1], a, b
    if isinstance(a, dict):
        a[1] = a[0] * 2
        return b.get(1, b[0]), a, b
    a.x = a.x * 2
    return b.x, a, b


def _probe(name: str, answer: Any, program: Any, make: Any, twice: bool) -> Probe:
    """Called with one container for both arguments and with two: one of them is the example."""

    def build() -> Case:
        one = make()
        calls = [(one, one), (make(), make())]
        example, other = calls if twice else reversed(calls)
        return Case(program, example, returned=True, also=[(other, {})])

    build.__name__ = name
    return answer(build)  # type: ignore[no-any-return]


for _kind, _make in MADE.items():
    for _program in (_compared, _written):
        _twice, _apart = f"one_{_kind}{_program.__name__}", f"two_{_kind}{_program.__name__}"
        globals()[_twice] = _probe(_twice, refused("unsupported-value"), _program, _make, True)
        globals()[_apart] = _probe(_apart, equal, _program, _make, False)
    for _twice in (True, False):
        _name = f"{'one' if _twice else 'two'}_{_kind}_read"
        globals()[_name] = _probe(_name, equal, _read, _make, _twice)


@refused("unsupported-value")
def one_list_in_two_places_of_an_argument():
    def f(a):
        a["p"].append(1)
        return a, a["q"][0] * len(a["q"])

    rows = [t(2)]
    return Case(f, ({"p": rows, "q": rows},), returned=True)


@refused("unsupported-value")
def one_list_as_a_keyword_as_well():
    def f(a, *, b):
        b.append(1)
        return a[0] * len(a), b

    rows = [t(2)]
    return Case(f, (rows,), {"b": rows}, returned=True)


@equal
def another_argument_is_changed():
    def f(a, b, c):
        c.append(c[0])
        return a[0] + b[0], c

    rows = [t(2)]
    return Case(f, (rows, rows, [t(2)]), returned=True)


@equal
def compared_with_none_and_with_its_own():
    def f(a, b=None):
        b = [] if b is None else b
        return [v * 2 for v in a], b is a[:], b

    rows = [t(2)]
    return Case(f, (rows, rows), returned=True)


@equal
def empty_tuples():
    return lambda a, b, x: x * (2 if a is b else 3), ((), (), t(2))


def _equal_by_identity(a: Any, b: Any) -> Any:
    return _first(a) * (2 if a == b else 3)


def _found_by_identity(a: Any, b: Any) -> Any:
    return _first(a) * (2 if a in [None, b] else 3)


for _program in (_equal_by_identity, _found_by_identity):
    _twice, _apart = f"one_object{_program.__name__}", f"two_objects{_program.__name__}"
    globals()[_twice] = _probe(_twice, refused("unsupported-value"), _program, MADE["object"], True)
    globals()[_apart] = _probe(_apart, equal, _program, MADE["object"], False)
