"""Tensors and sizes of the call in places of a result that flattening does not look into."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import collections
import contextlib
import functools
import types
import weakref

import torch
from torch import nn

from ..probe import equal, refused, t


class Result:
    """What a program returns: `x`, and what a probe adds."""

    def __init__(self, x, **others):
        self.x = x
        vars(self).update(others)


@contextlib.contextmanager
def opened(x):
    yield x


def hiding(hide):
    """A probe whose program returns a Result with `hide(x + 1)` beside a tensor."""

    def build():
        return lambda x: Result(x, hidden=hide(x + 1)), (t(3),)

    build.__name__ = build.__qualname__ = hide.__name__
    return refused("unsupported-value")(build)


@hiding
def closure(y):
    return lambda: y


@hiding
def default_of_a_function(y):
    def helper(z=y):
        return z

    return helper


@hiding
def set_of_tensors(y):
    return {y}


@hiding
def frozen_set_of_tensors(y):
    return frozenset([y])


@hiding
def tensor_as_a_key(y):
    return {y: 1}


@hiding
def partial_of_a_tensor(y):
    return functools.partial(torch.add, y)


@hiding
def iterator_over_tensors(y):
    return iter([y])


@hiding
def generator_of_tensors(y):
    return (y + i for i in range(2))


@hiding
def generator_of_numbers(y):
    return (i for i in range(y.dim()))


@hiding
def context_manager(y):
    return opened(y)


@hiding
def namespace(y):
    return types.SimpleNamespace(y=y)


@hiding
def read_only_dict(y):
    return types.MappingProxyType({"y": y})


@hiding
def method_of_an_object(y):
    return types.MethodType(lambda self: self.x, Result(y))


@hiding
def attribute_of_a_class(y):
    return type("Made", (), {"y": y})


@hiding
def attribute_of_a_class_of_an_object(y):
    return type("Made", (), {"y": y})()


@hiding
def attribute_of_a_module(y):
    layer = nn.ReLU()
    layer.y = y
    return layer


@hiding
def exception_with_a_tensor(y):
    return ValueError(y)


@refused("unsupported-value")
def weak_reference():
    return lambda x: Result(x, hidden=weakref.ref(x)), (t(3),)


@refused("unsupported-value")
def factory_of_a_defaultdict():
    def forward(x):
        made = collections.defaultdict(lambda: x * 2)
        made["a"] = x
        return made

    return forward, (t(3),)


@refused("unsupported-value")
def keys_that_are_tensors():
    return lambda x: {x: x + 1}, (t(3),)


@equal
def constants_without_tensors():
    def forward(x):
        error = None
        try:
            {}["missing"]
        except KeyError as caught:
            error = caught
        made = collections.defaultdict(list)
        made["a"].append(x)
        return Result(x, fn=torch.relu, kind=int, names={"a", "b"}, part=slice(1, 2), args=error.args), made

    return forward, (t(3),)
