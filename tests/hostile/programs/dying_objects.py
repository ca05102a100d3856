"""Objects from before the call that die in it, and programs that see that"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable
from typing import Any

from torch import nn

from tests.export.probe import equal, refused, sound, t


class Holds(nn.Module):
    """Multiplies by 2 where `sees(self)` holds, else by 3, before or after `changes(self)`."""

    def __init__(self, sees: Any, changes: Any, first: bool = False, **state: Any) -> None:
        super().__init__()
        self.sees, self.changes, self.first = sees, changes, first
        self.__dict__.update(state)

    def forward(self, x):
        if self.first:
            self.changes(self)
            return x * (2 if self.sees(self) else 3)
        seen = self.sees(self)
        self.changes(self)
        return x * (2 if seen else 3)


class Thing:
    n = 2


class Mourned:
    def __init__(self, log: list[int]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append(1)


def _set(value: Callable[[], Any]) -> Callable[[Any], None]:
    return lambda m: setattr(m, "held", value())


def _is_alive(m: Any) -> bool:
    return m.ref() is not None


def _watched(changes: Any, make: Any = Thing, first: bool = False) -> Any:
    held = make()
    return Holds(_is_alive, changes, first, held=held, ref=weakref.ref(held)), (t(3),)


for _name, _changes, _make in (
    ("another", _set(Thing), Thing),
    ("none", _set(lambda: None), Thing),
    ("ordered_dict", _set(collections.OrderedDict), collections.OrderedDict),
    ("module", _set(nn.ReLU), nn.ReLU),
    ("deleted", lambda m: m.__dict__.pop("held", None), Thing),
):

    def _build(changes: Any = _changes, make: Any = _make) -> Any:
        return _watched(changes, make)

    _build.__name__ = f"replaced_by_{_name}"
    globals()[_build.__name__] = refused("object-lifetime")(_build)


@refused("object-lifetime")
def seen_in_the_same_call():
    return _watched(_set(lambda: None), first=True)


@refused("object-lifetime")
def emptied_list():
    held = Thing()
    return Holds(_is_alive, lambda m: m.rows.clear(), rows=[held], ref=weakref.ref(held)), (t(3),)


@refused("object-lifetime")
def deep_in_what_is_replaced():
    held = Thing()
    rows = [{"a": held}]
    return Holds(_is_alive, lambda m: setattr(m, "rows", []), rows=rows, ref=weakref.ref(held)), (t(3),)


@refused("object-lifetime")
def finalizer_in_python():
    log: list[int] = []
    return Holds(lambda m: m.log, _set(lambda: None), held=Mourned(log), log=log), (t(3),)


@refused("object-lifetime")
def callback_of_a_reference():
    log: list[int] = []
    held = Thing()
    ref = weakref.ref(held, lambda _: log.append(1))
    return Holds(lambda m: m.log, _set(lambda: None), held=held, log=log, ref=ref), (t(3),)


@refused("object-lifetime")
def registered_finalizer():
    log: list[int] = []
    held = Thing()
    return Holds(lambda m: m.log, _set(lambda: None), held=held, log=log, ref=weakref.finalize(held, log.append, 1)), (
        t(3),
    )


@refused("object-lifetime")
def weak_collections():
    held = Thing()
    group, by_name = weakref.WeakSet([held]), weakref.WeakValueDictionary(a=held)
    return Holds(lambda m: len(m.group) + len(m.by_name), _set(lambda: None), held=held, group=group,
                 by_name=by_name), (t(3),)  # fmt: skip


@refused("object-lifetime")
def proxy():
    def sees(m):
        try:
            return m.proxy.n == 2
        except ReferenceError:
            return False

    held = Thing()
    return Holds(sees, _set(lambda: None), held=held, proxy=weakref.proxy(held)), (t(3),)


@sound()
def asked_from_the_second_call_on():
    def sees(m):
        asked, m.asked = m.asked, True
        return not asked or m.ref() is not None

    held = Thing()
    return Holds(sees, _set(lambda: None), held=held, asked=False, ref=weakref.ref(held)), (t(3),)


@equal
def held_in_another_place():
    held = Thing()
    return Holds(_is_alive, _set(lambda: None), held=held, also=[held], ref=weakref.ref(held)), (t(3),)


@equal
def reference_to_the_parent():
    child: Any = nn.ReLU()
    model = Holds(lambda m: m.child.parent() is m, _set(nn.ReLU), child=child, held=None)
    child.parent = weakref.ref(model)
    return model, (t(3),)


@equal
def put_back():
    def changes(m):
        held, m.held = m.held, None
        m.held = held

    return _watched(changes)


@equal
def reference_that_is_not_asked():
    held = Thing()
    return Holds(lambda m: True, _set(Thing), held=held, ref=weakref.ref(held)), (t(3),)
