"""Arguments with weak references to their own parts, or to other objects"""

from __future__ import annotations

import weakref
from typing import Any

from tests.export.probe import Case, equal, refused, t


class Store:
    def __init__(self, parent: Any, **entries: Any) -> None:
        self.parent, self.entries = weakref.ref(parent), entries


class Data:
    """As graph libraries have it: the attributes are in a store, which refers to its owner."""

    def __init__(self, **entries: Any) -> None:
        self.__dict__["store"] = Store(self, **entries)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        return self.store.entries[name]

    def __deepcopy__(self, memo: Any) -> Data:
        return Data(**{key: value.clone() for key, value in self.store.entries.items()})


class Node:
    def __init__(self, x: Any, other: Any = None) -> None:
        self.x, self.ref = x, weakref.ref(self if other is None else other)

    def __deepcopy__(self, memo: Any) -> Node:
        return Node(self.x.clone())


@equal
def data_with_a_store():
    def f(data):
        return data.x * 2 + data.y.sum(), len(data.store.entries)

    return Case(f, (Data(x=t(3), y=t(2)),), also=[((Data(x=t(3), y=t(2)),), {})])


@equal
def reference_that_is_not_asked():
    return Case(lambda node: node.x * 2, (Node(t(3)),), also=[((Node(t(3)),), {})])


@refused("unsupported-value")
def parent_asked_for_a_tensor():
    return lambda data: data.store.parent().x * 2, (Data(x=t(3)),)


@refused("unsupported-value")
def itself_asked_for_a_tensor():
    return lambda node: node.ref().x * node.x, (Node(t(3)),)


@refused("unsupported-value")
def in_a_list_of_a_keyword():
    return lambda x, *, nodes: x * nodes[0].ref().x, (t(3),), {"nodes": [Node(t(3))]}


@equal
def made_in_forward():
    def f(x):
        data = Data(x=x, y=x * 2)
        return data.store.parent().y + data.x, data.store.parent() is data

    return f, (t(3),)


class Linked:
    def __init__(self, x: Any) -> None:
        self.x, self.proxy = x, weakref.proxy(self)

    def __deepcopy__(self, memo: Any) -> Linked:
        return Linked(self.x.clone())


@refused("unsupported-value")
def read_through_a_proxy():
    return lambda node: node.proxy.x * 2, (Linked(t(3)),)


@refused("unsupported-value")
def read_through_a_proxy_in_a_list():
    return lambda x, nodes: x * nodes[0].proxy.x, (t(3), [Linked(t(3))])


@refused("unsupported-value")
def called_through_a_proxy():
    class Scaled(Linked):
        def scaled(self, x: Any) -> Any:
            return self.x * x

    return lambda node: node.proxy.scaled(2), (Scaled(t(3)),)


@refused("unsupported-value")
def operand_that_is_a_proxy():
    class Added(Linked):
        def __add__(self, other: Any) -> Any:
            return self.x + other

    return lambda node: node.proxy + 1, (Added(t(3)),)


@refused("unsupported-value")
def proxy_that_is_called():
    class Called(Linked):
        def __call__(self, x: Any) -> Any:
            return self.x * x

    return lambda node: node.proxy(2), (Called(t(3)),)
