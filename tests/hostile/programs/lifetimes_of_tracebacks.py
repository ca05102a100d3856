"""Exceptions whose tracebacks keep, or do not keep, what the program sees the end of"""

# ruff: noqa: F841

from __future__ import annotations

import weakref

from tests.export.probe import equal, refused, sound, t


class Thing:
    def __init__(self, *held):
        self.held = held


class Store:
    """Holds its owner weakly, and asks a dict for what it does not have."""

    def __init__(self, owner):
        self.__dict__["owner"] = weakref.ref(owner)
        self.__dict__["items"] = {}

    def __getitem__(self, key):
        return self.items[key]

    def __setattr__(self, key, value):
        self.items[key] = value

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None


class Record:
    def __init__(self, x):
        self.__dict__["store"] = Store(self)
        self.store.x = x

    def __getattr__(self, key):
        return getattr(self.store, key)


def fail(*held):
    raise ValueError


def gone(x, seen):
    return x + 1 if seen() is None else x - 1


@equal
def records_with_weak_owners():
    def f(x):
        record = Record(x)
        n = getattr(record, "missing", 3)
        has = hasattr(record.store, "missing")
        store, y = record.store, record.x * n
        del record
        return gone(y, store.owner) + has

    return f, (t(3),)


@equal
def the_owner_is_there():
    def f(x):
        record = Record(x)
        return gone(record.x, record.store.owner)

    return f, (t(3),)


@equal
def a_function_that_holds_other_objects():
    def f(x):
        thing = Thing()
        seen = weakref.ref(thing)
        try:
            fail([1, x], {"a": Thing()})
        except ValueError:
            pass
        del thing
        return gone(x, seen)

    return f, (t(3),)


@equal
def a_default_for_an_attribute():
    class Asked:
        def __getattr__(self, key):
            raise AttributeError(key)

    def f(x):
        asked = Asked()
        seen = weakref.ref(asked)
        n = getattr(asked, "missing", None)
        has = hasattr(asked, "missing")
        del asked
        return gone(x, seen)

    return f, (t(3),)


@equal
def made_after_an_exception_that_is_over():
    def f(x):
        try:
            fail(x)
        except ValueError:
            pass
        thing = Thing()
        seen = weakref.ref(thing)
        del thing
        return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def held_by_what_a_function_holds():
    def f(x):
        thing = Thing()
        holder, seen = Thing([thing]), weakref.ref(thing)
        try:
            fail(holder)
        except ValueError as error:
            kept = error
        del thing, holder
        return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def held_by_a_cell():
    def f(x):
        thing = Thing()
        seen = weakref.ref(thing)

        def inner(held):
            def innermost():
                return held

            raise ValueError

        try:
            inner([thing])
        except ValueError as error:
            kept = error
        del thing
        return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def held_by_a_generator():
    def items(thing):
        yield 1
        raise ValueError

    def f(x):
        thing = Thing()
        seen = weakref.ref(thing)
        try:
            for _ in items(thing):
                pass
        except ValueError:
            del thing
            return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def watched_in_the_handler():
    def f(x):
        thing = Thing()
        try:
            fail(thing)
        except ValueError:
            seen = weakref.ref(thing)
            del thing
            return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def watched_while_the_exception_is_kept():
    def f(x):
        thing = Thing()
        try:
            fail(thing)
        except ValueError as error:
            kept = error
        seen = weakref.ref(thing)
        del thing
        return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def the_function_that_caught_it_returns_it():
    def caught(thing):
        try:
            fail()
        except ValueError as error:
            return error

    def f(x):
        thing = Thing()
        seen = weakref.ref(thing)
        kept = caught(thing)
        del thing
        return gone(x, seen)

    return f, (t(3),)


@refused("object-lifetime")
def kept_as_the_context_of_another():
    def caught(thing):
        try:
            fail()
        except ValueError:
            raise KeyError from None

    def f(x):
        thing = Thing()
        seen = weakref.ref(thing)
        try:
            caught(thing)
        except KeyError as error:
            kept = error.__context__
        del thing
        return gone(x, seen)

    return f, (t(3),)


@sound("object-lifetime")
def a_cycle_of_the_exception_and_its_function():
    def cycle(found):
        thing = Thing()
        found.append(weakref.ref(thing))
        error = ValueError()
        raise error

    def f(x):
        found = []
        try:
            cycle(found)
        except ValueError:
            pass
        return gone(x, found[0])

    return f, (t(3),)
