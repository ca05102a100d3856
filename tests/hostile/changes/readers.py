"""State that a C function reads of an object that it is given."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import pickle
import weakref
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    """`forward` turns the state into a number."""
    attributes = {"n": 2, "d": {"n": 2}, "b": Box(n=2), "xs": [1, 2], **more}
    return Changes(Module(lambda s, x: x * forward(s), **attributes), {})


def _n(forward: Any, **more: Any) -> Changes:
    made = _of(forward, **more)
    made.told = {"value": setter(made.program.held, "n", 10)}
    return made


@row
def attrgetter() -> Changes:
    made = _n(lambda s: operator.attrgetter("n")(s))
    made.held = {"another": setter(made.program.held, "m", 10)}
    return made


@row
def attrgetter_dotted() -> Changes:
    made = _of(lambda s: operator.attrgetter("b.n")(s))
    made.told = {"value": setter(made.program.held.b, "n", 10)}
    return made


@row
def attrgetter_of_several() -> Changes:
    return _n(lambda s: sum(operator.attrgetter("n", "b.n")(s)))


@row
def attrgetter_as_a_key() -> Changes:
    made = _of(lambda s: sorted(s.boxes, key=operator.attrgetter("n"))[0].m, boxes=[Box(n=1, m=3), Box(n=2, m=4)])
    made.told = {"order": setter(made.program.held.boxes[0], "n", 5)}
    return made


@row
def attrgetter_kept() -> Changes:
    return _n(lambda s: s.get(s), get=operator.attrgetter("n"))


@row
def attrgetter_in_map() -> Changes:
    made = _of(lambda s: sum(map(operator.attrgetter("n"), s.boxes)), boxes=[Box(n=1), Box(n=2)])
    made.told = {"value": setter(made.program.held.boxes[1], "n", 5)}
    return made


@row
def itemgetter() -> Changes:
    made = _of(lambda s: operator.itemgetter("n")(s.d))
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def itemgetter_in_map() -> Changes:
    made = _of(lambda s: sum(map(operator.itemgetter(0), s.rows)), rows=[[1], [2]])
    made.told = {"value": item(made.program.held.rows[1], 0, 10)}
    return made


@row
def methodcaller() -> Changes:
    made = _of(lambda s: operator.methodcaller("get", "n")(s.d))
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def getattr_in_map() -> Changes:
    return _n(lambda s: sum(map(getattr, [s], ["n"])))


@row
def vars_of_it() -> Changes:
    return _n(lambda s: vars(s)["n"])


@row
def dict_of_it() -> Changes:
    return _n(lambda s: dict(s.__dict__)["n"])


@row
def copied() -> Changes:
    return _n(lambda s: copy.copy(s).n)


@row
def deep_copied() -> Changes:
    made = _of(lambda s: copy.deepcopy(s.b).n)
    made.told = {"value": setter(made.program.held.b, "n", 10)}
    return made


@row
def pickled() -> Changes:
    made = _of(lambda s: pickle.loads(pickle.dumps(s.d))["n"])
    made.told = {"value": item(made.program.held.d, "n", 10)}
    return made


@row
def pickled_object() -> Changes:
    made = _of(lambda s: pickle.loads(pickle.dumps(s.b)).n)
    made.told = {"value": setter(made.program.held.b, "n", 10)}
    return made


@row
def dir_of_it() -> Changes:
    made = _of(lambda s: len([name for name in dir(s) if name.startswith("k")]) + 1)
    made.told = {"one more": setter(made.program.held, "key", 1)}
    return made


@row
def dir_of_its_class() -> Changes:
    class Plain:
        one = 1

    made = _of(lambda s: len([name for name in dir(s.plain) if name.startswith("o")]), plain=Plain())
    made.told = {"one more": setter(Plain, "other", 1), "of the instance": setter(made.program.held.plain, "of", 1)}
    return made


@row
def dir_of_a_class() -> Changes:
    class Base:
        one = 1

    class Plain(Base):
        pass

    made = _of(lambda s: len([name for name in dir(s.plain) if name.startswith("o")]), plain=Plain)
    made.told = {"one more": setter(Plain, "other", 1), "of the base": setter(Base, "of", 1)}
    return made


@row
def getmembers() -> Changes:
    class Plain:
        one = 1

    made = _of(
        lambda s: sum(v for k, v in inspect.getmembers(s.plain) if not k.startswith("_")),
        plain=Plain(),
    )
    made.told = {
        "value": setter(Plain, "one", 5),
        "one more": setter(Plain, "two", 5),
        "of the instance": setter(made.program.held.plain, "three", 5),
    }
    return made


@row
def getattr_static() -> Changes:
    return _n(lambda s: inspect.getattr_static(s, "n"))


@row
def getattr_static_of_a_class() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: inspect.getattr_static(s.plain, "n"), plain=Plain())
    made.told = {"class": setter(Plain, "n", 4), "instance": setter(made.program.held.plain, "n", 5)}
    return made


@row
def signature_of_a_function() -> Changes:
    def f(a: int, b: int = 2) -> int:
        return a

    made = _of(lambda s: inspect.signature(s.f).parameters["b"].default, f=f)
    made.told = {"default": setter(f, "__defaults__", (5,))}
    return made


@row
def callable_of_it() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: 2 if callable(s.plain) else 3, plain=Plain())
    made.told = {"call": setter(Plain, "__call__", lambda self: 1)}
    return made


@row
def callable_of_a_base() -> Changes:
    class Base:
        pass

    class Plain(Base):
        pass

    made = _of(lambda s: 2 if callable(s.plain) else 3, plain=Plain())
    made.told = {"call": setter(Base, "__call__", lambda self: 1)}
    return made


@row
def callable_that_is() -> Changes:
    class Plain:
        def __call__(self) -> int:
            return 1

    made = _of(lambda s: 2 if callable(s.plain) else 3, plain=Plain())
    made.told = {"no call": lambda: delattr(Plain, "__call__")}
    made.held = {"another call": setter(Plain, "__call__", lambda self: 2)}
    return made


@row
def filter_callable() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: len(list(filter(callable, [s.plain]))) + 1, plain=Plain())
    made.told = {"call": setter(Plain, "__call__", lambda self: 1)}
    return made


@row
def hash_of_it() -> Changes:
    class Plain:
        n = 3

        def __hash__(self) -> int:
            return self.n

    made = _of(lambda s: hash(s.plain), plain=Plain())
    made.told = {"value": setter(made.program.held.plain, "n", 5), "class": setter(Plain, "n", 6)}
    return made


@row
def hash_of_a_tuple_with_it() -> Changes:
    class Plain:
        n = 3

        def __hash__(self) -> int:
            return self.n

    made = _of(lambda s: hash((s.plain, 1)) % 1000, plain=Plain())
    made.told = {"value": setter(made.program.held.plain, "n", 5)}
    return made


@row
def hash_of_a_key_with_it() -> Changes:
    class Plain:
        n = 3

        def __hash__(self) -> int:
            return self.n

        def __eq__(self, other: object) -> bool:
            return True

    made = _of(lambda s: s.table.get((s.plain, 1), 7) + s.table[s.other, 1], plain=Plain(), other=Plain(), table={})
    made.program.held.table[made.program.held.plain, 1] = 4
    made.told = {"value": setter(made.program.held.plain, "n", 5), "other": setter(made.program.held.other, "n", 9)}
    return made


@row
def equality_in_a_list() -> Changes:
    class Plain:
        n = 3

        def __eq__(self, other: object) -> bool:
            return self.n == other

        __hash__ = None  # type: ignore[assignment]

    made = _of(lambda s: 2 if 3 in [s.plain] else 5, plain=Plain())
    made.told = {"value": setter(made.program.held.plain, "n", 5), "class": setter(Plain, "n", 6)}
    return made


@row
def index_and_count_of_a_list() -> Changes:
    made = _of(lambda s: s.ys.index(2) * 10 + s.ys.count(2), ys=[1, 2, 2])
    made.told = {"first": item(made.program.held.ys, 0, 2), "last": item(made.program.held.ys, 2, 3)}
    return made


@row
def bisect_of_a_list() -> Changes:
    import bisect

    made = _of(lambda s: bisect.bisect(s.ys, 5) + 1, ys=[1, 4, 9])
    made.told = {"value": item(made.program.held.ys, 1, 7)}
    return made


@row
def partial_arguments() -> Changes:
    def f(a: int, *, b: int) -> int:
        return a * b

    made = _of(lambda s: s.f(), f=functools.partial(f, 2, b=3))
    partial = made.program.held.f
    made.told = {
        "keyword": item(partial.keywords, "b", 5),
        "argument": lambda: partial.__setstate__((f, (7,), {"b": 3}, {})),
    }
    return made


@row
def partial_args_read() -> Changes:
    made = _of(lambda s: s.f.args[0] + s.f.keywords["b"], f=functools.partial(max, 2, b=3))
    partial = made.program.held.f
    made.told = {
        "keyword": item(partial.keywords, "b", 5),
        "argument": lambda: partial.__setstate__((max, (7,), {"b": 3}, {})),
    }
    return made


@row
def partial_of_a_mutable() -> Changes:
    made = _of(lambda s: s.f(), f=functools.partial(sum, [1, 2]))
    made.told = {"item": item(made.program.held.f.args[0], 0, 9)}
    return made


@row
def referent_of_a_weak_reference() -> Changes:
    box = Box(n=2)
    made = _of(lambda s: s.ref().n, ref=weakref.ref(box), box=box)
    made.told = {"value": setter(box, "n", 7)}
    return made


@row
def dead_weak_reference() -> Changes:
    boxes = [Box(n=2)]
    made = _of(lambda s: 3 if s.ref() is None else 4, ref=weakref.ref(boxes[0]))
    made.told = {"it dies": boxes.clear}
    return made


@row
def weak_value_dictionary() -> Changes:
    box = Box(n=2)
    made = _of(lambda s: s.w["a"].n, w=weakref.WeakValueDictionary(a=box), box=box)
    made.told = {"value": setter(box, "n", 7), "item": item(made.program.held.w, "a", made.program.held.b)}
    made.program.held.b.n = 5
    return made


@row
def weak_value_dictionary_length() -> Changes:
    boxes = [Box(n=2)]
    made = _of(lambda s: len(s.w) + 1, w=weakref.WeakValueDictionary(a=boxes[0]))
    made.told = {"it dies": boxes.clear}
    return made


@row
def weak_set() -> Changes:
    box = Box(n=2)
    made = _of(lambda s: 2 if box in s.w else 3, w=weakref.WeakSet([box]))
    made.told = {"gone": lambda: made.program.held.w.discard(box)}
    return made


@row
def weak_key_dictionary() -> Changes:
    box = Box(n=2)
    made = _of(lambda s: s.w[box], w=weakref.WeakKeyDictionary({box: 4}))
    made.told = {"value": item(made.program.held.w, box, 5)}
    return made
