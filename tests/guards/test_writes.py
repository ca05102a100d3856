"""A write by any door is told by a guard that is about it. The oracle is the check guard by guard."""

from __future__ import annotations

import collections
import gc
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.guards import Guard, GuardSet, Source
from dynamo_lite.guards.classes import form, namespace_of
from dynamo_lite.guards.source import child, root

from . import ways


class Base:
    shared = 1

    def method(self) -> int:
        return 1

    def other(self) -> int:
        return 2


class Other(Base):
    pass


class Meta(type):
    pass


class World:
    """A graph of objects with one of each kind of place, and the guards that hold for it."""

    def __init__(self) -> None:
        self.cls = Meta("Cls", (Base,), {"own": 3})
        self.sub_of_dict = type("SubOfDict", (dict,), {})
        self.module = types.ModuleType("a_module")
        self.module.flag = True  # type: ignore[attr-defined]
        self.root = self.cls()
        inner = self.cls()
        inner.n, inner.name = 1, "a"
        held = 5
        default = 1

        def closure(a: int = default, *, b: int = 2) -> int:
            return held + a + b

        def set_cell(value: Any) -> None:
            nonlocal held
            held = value

        self.set_cell, self.closure = set_cell, closure
        vars(self.root).update(
            inner=inner, items=[1, 2.5, "x"], pair=(1, [7]), table={"k": 1, "l": [0]}, tagged=self.sub_of_dict(k=1),
            ordered=collections.OrderedDict(a=1, b=2), fn=closure, empty=[], frozen=frozenset({1}), none=None,
            module=self.module, hooks=collections.OrderedDict(),
        )  # fmt: skip
        self.guards = GuardSet(self._guards())

    def _guards(self) -> list[Guard]:
        made: dict[Any, Source] = {}

        def to(parent: Source, step: str, key: Any = None) -> Source:
            return made.setdefault((id(parent), step, key), child(parent, step, key))

        mod = root("function")
        attributes = to(mod, "dict")
        place = {name: to(attributes, "item", name) for name in vars(self.root)}
        inner = to(place["inner"], "dict")
        cls, fn, module = root("constant", self.cls), place["fn"], to(place["module"], "dict")
        code = self.closure.__code__
        return [
            Guard("type", mod, self.cls),
            Guard("type", place["inner"], self.cls),
            Guard("equals", to(inner, "item", "n"), 1),
            Guard("absent", inner, ["gone", "method"]),
            Guard("present", inner, ["name"]),
            Guard("type", place["items"], list),
            Guard("length", place["items"], 3),
            Guard("equals", to(place["items"], "list_item", 1), 2.5),
            Guard("items", place["items"], [1, 2.5, "x"]),
            Guard("type", place["pair"], tuple),
            Guard("equals", to(to(place["pair"], "tuple_item", 1), "item", 0), 7),
            Guard("type", place["table"], dict),
            Guard("keys", place["table"], ["k", "l"]),
            Guard("equals", to(to(place["table"], "item", "l"), "item", -1), 0),
            Guard("type", place["tagged"], self.sub_of_dict),
            Guard("equals", to(place["tagged"], "dict_item", "k"), 1),
            Guard("keys", place["ordered"], ["a", "b"]),
            Guard("length", place["ordered"], 2),
            Guard("empty", place["empty"], None),
            Guard("empty", place["hooks"], None),
            Guard("set", place["frozen"], frozenset({1})),
            Guard("equals", place["none"], None),
            Guard("code", fn, code),
            Guard("equals", to(fn, "attribute", "__defaults__"), (1,)),
            Guard("equals", to(to(fn, "attribute", "__kwdefaults__"), "item", "b"), 2),
            Guard("equals", to(fn, "cell", 0), 5),
            Guard("equals", to(module, "item", "flag"), True),
            Guard("is", to(cls, "attribute", "method"), Base.method),
            Guard("equals", to(cls, "class_entry", "own"), 3),
            Guard("plain_code", to(cls, "attribute", "method"), Base.method.__code__),
            Guard("class", cls, form(self.cls)),
            Guard("no_attribute", cls, "never"),
            Guard("distinct", place["empty"], None, None, place["items"]),
        ]


class Property:
    """A data descriptor."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError


def _defaults_again(fn: Any, value: Any) -> None:
    del fn.__defaults__
    fn.__defaults__ = (value,)


WRITES: dict[str, Callable[[World], Any]] = {
    "setattr": lambda w: setattr(w.root.inner, "n", 2),
    "setattr of an equal value": lambda w: setattr(w.root.inner, "n", 1),
    "vars": lambda w: vars(w.root.inner).__setitem__("n", True),
    "object.__setattr__": lambda w: object.__setattr__(w.root.inner, "n", 1.0),
    "delattr": lambda w: delattr(w.root.inner, "name"),
    "a new attribute": lambda w: setattr(w.root.inner, "gone", 1),
    "another dict": lambda w: setattr(w.root.inner, "__dict__", {"n": 2, "name": "a"}),
    "an equal dict": lambda w: setattr(w.root.inner, "__dict__", {"n": 1, "name": "a"}),
    "the dict deleted": lambda w: delattr(w.root.inner, "__dict__"),
    "another class": lambda w: setattr(w.root.inner, "__class__", Other),
    "another root class": lambda w: setattr(w.root, "__class__", Other),
    "another object": lambda w: setattr(w.root, "inner", w.cls()),
    "a list item": lambda w: w.root.items.__setitem__(1, 3.5),
    "an equal list item": lambda w: w.root.items.__setitem__(1, 5 / 2),
    "append": lambda w: w.root.items.append(4),
    "pop": lambda w: w.root.items.pop(),
    "reverse": lambda w: w.root.items.reverse(),
    "a slice": lambda w: w.root.items.__setitem__(slice(0, 1), [9]),
    "clear": lambda w: w.root.items.clear(),
    "extend far": lambda w: w.root.items.extend(range(1000)),
    "another list": lambda w: setattr(w.root, "items", [1, 2.5, "x"]),
    "an item in a tuple's list": lambda w: w.root.pair[1].__setitem__(0, 8),
    "a dict item": lambda w: w.root.table.__setitem__("k", 2),
    "a dict's order": lambda w: w.root.table.__setitem__("k", w.root.table.pop("k")),
    "a list in a dict": lambda w: w.root.table["l"].append(1),
    "an item of a dict's subclass": lambda w: w.root.tagged.__setitem__("k", 2),
    "the same past it": lambda w: dict.__setitem__(w.root.tagged, "k", 3),
    "the class of that": lambda w: setattr(w.root.tagged, "__class__", type("Sub", (dict,), {})),
    "move_to_end": lambda w: w.root.ordered.move_to_end("a"),
    "popitem": lambda w: w.root.ordered.popitem(),
    "not empty": lambda w: w.root.empty.append(1),
    "a hook": lambda w: w.root.hooks.__setitem__(1, print),
    "another frozenset": lambda w: setattr(w.root, "frozen", frozenset({2})),
    "code": lambda w: setattr(w.closure, "__code__", w.closure.__code__.replace(co_name="again")),
    "defaults": lambda w: setattr(w.closure, "__defaults__", (2,)),
    "defaults at the same address": lambda w: _defaults_again(w.closure, 2),
    "no defaults": lambda w: delattr(w.closure, "__defaults__"),
    "a keyword default": lambda w: w.closure.__kwdefaults__.__setitem__("b", 3),
    "other keyword defaults": lambda w: setattr(w.closure, "__kwdefaults__", {"b": 3}),
    "a cell": lambda w: w.set_cell(6),
    "a cell by its object": lambda w: setattr(w.closure.__closure__[0], "cell_contents", 7),  # type: ignore[index]
    "an empty cell": lambda w: delattr(w.closure.__closure__[0], "cell_contents"),  # type: ignore[index]
    "a module's global": lambda w: setattr(w.module, "flag", False),
    "the same by its dict": lambda w: vars(w.module).__setitem__("flag", 1),
    "a class attribute": lambda w: setattr(w.cls, "own", 4),
    "a method": lambda w: setattr(w.cls, "method", Base.other),
    "a special method": lambda w: setattr(w.cls, "__len__", lambda self: 1),
    "a property": lambda w: setattr(w.cls, "n", Property()),
    "the class's own dict": lambda w: namespace_of(w.cls).__setitem__("own", 5),
    "a name of the class": lambda w: setattr(w.cls, "never", 1),
    "other bases": lambda w: setattr(w.cls, "__bases__", (Other,)),
    "nothing": lambda w: None,
    "what no guard is about": lambda w: setattr(w.root.inner, "free", object()),
    "a collection": lambda w: gc.collect(),
}


HARMLESS = {
    "setattr of an equal value",
    "an equal dict",
    "an equal list item",
    "another list",
    "a dict item",  # no guard is about that key's value
    "nothing",
    "what no guard is about",
    "a collection",
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_told(write: str) -> None:
    world = World()
    assert ways.failing(world.guards, world.root) == -1
    WRITES[write](world)
    assert (ways.failing(world.guards, world.root) == -1) == (write in HARMLESS)


@given(st.lists(st.sampled_from(sorted(WRITES)), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_random_writes_one_after_the_other(names: list[str]) -> None:
    world = World()
    assert ways.failing(world.guards, world.root) == -1
    for name in names:
        try:
            WRITES[name](world)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            continue  # an earlier write took away what this one is about
        ways.failing(world.guards, world.root)


def test_the_class_of_the_callable_is_asked() -> None:
    one, two = World(), World()
    assert ways.failing(one.guards, one.root) == -1
    assert ways.failing(one.guards, two.root) == 0
    assert ways.failing(one.guards, one.root) == -1


def test_a_bound_method_is_made_again_at_each_call() -> None:
    class Owner:
        def __init__(self) -> None:
            self.n = 1

        def run(self) -> int:
            return self.n

    owner, mod = Owner(), root("function")
    at = child(child(child(mod, "attribute", "__self__"), "dict"), "item", "n")
    guards = GuardSet([Guard("type", mod, types.MethodType), Guard("equals", at, 1)])
    assert ways.failing(guards, owner.run) == ways.failing(guards, owner.run) == -1
    owner.n = 2
    assert ways.failing(guards, owner.run) == 1
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_check_keeps_nothing_alive_that_it_looked_at() -> None:
    world = World()
    guards = world.guards
    assert ways.failing(guards, world.root) == -1
    gone, inner = weakref.ref(world.root), weakref.ref(world.root.inner)
    del world
    gc.collect()
    assert gone() is None and inner() is None
    assert guards.failing(World().root) == 0


def test_threads_may_check_while_another_writes() -> None:
    world, errors = World(), list[BaseException]()
    assert ways.failing(world.guards, world.root) == -1

    def check() -> None:
        try:
            for _ in range(3000):
                assert world.guards.failing(world.root) in (-1, lists)
        except BaseException as error:
            errors.append(error)

    lists = next(i for i, guard in enumerate(world.guards) if guard.kind == "empty")
    threads = [threading.Thread(target=check) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        world.root.empty.extend(range(60))
        world.root.empty.clear()
        time.sleep(0.0005)
    assert errors == [] and ways.failing(world.guards, world.root) == -1
