"""Arguments whose last reference the called function has: in CPython they die where it lets go of them."""

# ruff: noqa: F821, F841

from __future__ import annotations

import weakref

from tests.export.probe import equal, refused, t


class Thing:
    pass


class Logged:
    died: list[int] = []

    def __del__(self):
        Logged.died.append(1)


def drop(thing):
    seen = weakref.ref(thing)
    del thing
    return seen() is None


def keep(thing):
    seen = weakref.ref(thing)
    return seen() is None


def count(logged):
    del logged
    return len(Logged.died)


@refused("object-lifetime")
def deleted():
    def f(x):
        return x * (2 if drop(Thing()) else 3)

    return f, (t(3),)


@refused("object-lifetime")
def deleted_with_a_finalizer():
    def f(x):
        Logged.died.clear()
        return x * (2 + count(Logged()))

    return f, (t(3),)


@refused("object-lifetime")
def given_another_value():
    def replace(thing, seen):
        thing = None
        return seen() is None

    def f(x):
        things = [Thing()]
        seen = weakref.ref(things[0])
        return x * (2 if replace(things.pop(), seen) else 3)

    return f, (t(3),)


@refused("object-lifetime")
def deleted_with_the_rest():
    def drop_all(*things):
        seen = weakref.ref(things[0])
        del things
        return seen() is None

    def f(x):
        return x * (2 if drop_all(Thing()) else 3)

    return f, (t(3),)


@refused("object-lifetime")
def deleted_from_a_cell():
    def drop_cell(thing):
        seen = weakref.ref(thing)

        def inner():
            return thing

        del thing
        return seen() is None

    def f(x):
        return x * (2 if drop_cell(Thing()) else 3)

    return f, (t(3),)


@refused("object-lifetime")
def self_deleted():
    class Own:
        def drop(self):
            seen = weakref.ref(self)
            del self
            return seen() is None

    def f(x):
        return x * (2 if Own().drop() else 3)

    return f, (t(3),)


@refused("object-lifetime")
def held_by_what_is_deleted():
    def drop_list(things):
        seen = weakref.ref(things[0])
        things = None
        return seen() is None

    def f(x):
        return x * (2 if drop_list([Thing()]) else 3)

    return f, (t(3),)


@refused("object-lifetime")
def weak_values():
    table = weakref.WeakValueDictionary()

    def put(thing):
        table["a"] = thing
        del thing
        return len(table)

    def f(x):
        return x * (2 + put(Thing()))

    return f, (t(3),)


@equal
def held_by_the_caller():
    def f(x):
        thing = Thing()
        return x * (2 if drop(thing) else 3), thing is None

    return f, (t(3),)


@equal
def not_let_go():
    def f(x):
        return x * (2 if keep(Thing()) else 3)

    return f, (t(3),)


@equal
def held_by_another():
    class Held:
        pass

    def move(thing, holder):
        holder.thing = thing
        thing = None
        return holder.thing

    def f(x):
        thing = Thing()
        seen, holder = weakref.ref(thing), Held()
        del thing
        seen = weakref.ref(move(Thing(), holder))
        return x * (2 if seen() is None else 3)

    return f, (t(3),)
