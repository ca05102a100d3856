"""Every C callable of the standard library's core modules is in a table, and the tables say what CPython does."""

from __future__ import annotations

import _thread
import array
import bisect
import builtins
import cmath
import collections
import contextvars
import copy
import datetime
import decimal
import functools
import gc
import hashlib
import heapq
import io
import itertools
import json
import math
import operator
import os
import random
import re
import string
import struct
import sys
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from dynamo_lite.interpreter.datamodel.callees import callee_key
from dynamo_lite.tracing.policy.classify import classify, name_of
from dynamo_lite.tracing.policy.verdicts import CallKind

MODULES: tuple[ModuleType, ...] = (
    builtins, math, cmath, operator, itertools, functools, collections, re, random, time, os, copy, json, struct, zlib,
    hashlib, string, heapq, bisect, weakref, datetime, decimal, array, io, sys, gc, contextvars, _thread, torch, np,
)  # fmt: skip


def _callables(module: ModuleType) -> Iterator[Any]:
    """The functions and classes of a module, and the methods of the classes; not the import machinery it refers to."""
    for value in vars(module).values():
        if not callable(value) or str(getattr(value, "__module__", "")).startswith("_frozen"):
            continue
        yield value
        if isinstance(value, type):
            yield from (member for member in vars(value).values() if callable(member))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_callable_is_unknown(module: ModuleType) -> None:
    unknown = {name_of(fn) for fn in _callables(module) if classify(fn).kind is CallKind.UNKNOWN}
    assert {name for name in unknown if name and not name.startswith("_frozen_importlib")} == set()


def test_string_methods_are_pure() -> None:
    kinds = {classify(method).kind for method in vars(str).values() if callable(method)}
    assert kinds == {CallKind.PURE}


def test_an_extension_that_no_table_knows_is_unknown() -> None:
    """A C callable says where it is from; a module of which nothing is known stays unknown."""
    import _ctypes

    assert classify(_ctypes.sizeof).kind is CallKind.UNKNOWN


# What each method of a container does to a copy of a sample is compared with what the table says.
SAMPLES: dict[type, tuple[Callable[[], Any], tuple[tuple[Any, ...], ...]]] = {
    list: (lambda: [3, 1, 2], ((), (1,), (0, 5), (slice(0, 1), [7]), ([8],), (2, 2))),
    dict: (lambda: {"a": 1, "b": 2}, ((), ("a",), ("c", 3), ({"c": 3},), ([("d", 4)],))),
    set: (lambda: {1, 2}, ((), (1,), (3,), ({2, 3},))),
    collections.deque: (lambda: collections.deque([3, 1, 2]), ((), (1,), (0, 5), ([8],), (2,))),
    collections.OrderedDict: (lambda: collections.OrderedDict(a=1, b=2), ((), ("a",), ("c", 3), ({"c": 3},))),
    bytearray: (lambda: bytearray(b"cab"), ((), (97,), (0, 65), (b"x",), (2,))),
    array.array: (lambda: array.array("i", [3, 1, 2]), ((), (1,), (0, 5), ([8],), (b"\1\0\0\0",), (2,))),
}


def _state(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else sorted(value) if isinstance(value, set) else list(value)


def _changes(kind: type, name: str) -> bool:
    """Whether some call of the method on a sample changes it."""
    make, calls = SAMPLES[kind]
    for args in calls:
        sample = make()
        before = _state(sample)
        try:
            getattr(kind, name)(sample, *args)
        except Exception:
            pass
        if _state(sample) != before:
            return True
    return False


METHODS = [
    (kind, name)
    for kind in SAMPLES
    for name, method in vars(kind).items()
    if callable(method) and not isinstance(method, (classmethod, staticmethod)) and name not in ("__new__", "tofile")
]


@pytest.mark.parametrize(("kind", "name"), METHODS, ids=lambda value: getattr(value, "__name__", value))
def test_the_table_knows_the_methods_that_change_a_container(kind: type, name: str) -> None:
    """A method that is seen to change its instance is in the table of mutators."""
    if _changes(kind, name):
        verdict = classify(vars(kind)[name])
        assert verdict.kind is CallKind.MUTATES, (
            f"{kind.__name__}.{name} changes its instance; the table says {verdict}"
        )


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (heapq.heappush, ([1, 2], 0)),
        (heapq.heappop, ([1, 2],)),
        (heapq.heapify, ([2, 1],)),
        (heapq.heapreplace, ([1, 2], 5)),
        (bisect.insort, ([1, 3], 2)),
        (operator.setitem, ([1], 0, 2)),
        (operator.delitem, ([1], 0)),
        (operator.iadd, ([1], [2])),
        (operator.ior, ({1}, {2})),
        (struct.pack_into, ("b", bytearray(2), 0, 1)),
        (np.copyto, (np.zeros(2), np.ones(2))),
        (np.add.at, (np.zeros(2), [0], 1.0)),
        (np.ndarray.fill, (np.zeros(2), 1.0)),
        (np.ndarray.sort, (np.array([2.0, 1.0]),)),
        (np.put, (np.zeros(2), [0], 1.0)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_that_change_an_argument_name_it(fn: Any, args: tuple[Any, ...]) -> None:
    """The argument that the table names is the one that changes."""
    key, full = callee_key(fn, args)
    verdict = classify(key)
    if name_of(key) is None:  # a Python function of numpy's: its C callee is in the table
        pytest.skip("written in Python here")
    before = [copy.deepcopy(arg) for arg in full]
    key(*full)
    changed = {i for i, (old, new) in enumerate(zip(before, full)) if not np.array_equal(old, new)}
    assert changed and changed <= {where.position for where in verdict.where}
