"""Calls of C code that may look at the characters of an unread text (tracing/strings/deferred_str.py)."""

from __future__ import annotations

import itertools
import warnings
from collections import deque
from collections.abc import Callable
from inspect import getattr_static
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted
from dynamo_lite.tracing.strings.deferred_str import UniqueText, UnreadText, read_all, texts_in, unread
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper

_LOOKS = frozenset(map(id, (isinstance, callable, id, type, object.__new__, print, warnings.warn, torch._assert)))
"""The ids of functions that do not read a text. (Where print() and warnings.warn() do, output.py reads.)"""

_OF_SETS = (
    "union",
    "intersection",
    "difference",
    "symmetric_difference",
    "issubset",
    "issuperset",
    "isdisjoint",
    "copy",
)
_LOOKS_UP = frozenset(
    map(
        id,
        (
            *(dict.get, dict.pop, dict.setdefault, dict.update, dict.keys, dict.values, dict.items),
            *(dict.__contains__, dict.__getitem__, set.__contains__, set.add, set.discard, set.remove, set.update),
            *(set, frozenset, dict, list.index, list.count, list.remove, tuple.index, tuple.count),
            *(getattr(kind, name) for kind in (set, frozenset) for name in _OF_SETS),
        ),
    )
)
"""The ids of functions that only compare a text with others."""
_TEXTS_OF_TEXTS = (
    *("ljust", "rjust", "center", "zfill", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace"),
    *("upper", "lower", "title", "capitalize", "swapcase", "casefold", "expandtabs", "join"),
)
_MAKES_TEXT: dict[int, Any] = {
    id(method): getattr(str, name) for name in _TEXTS_OF_TEXTS for method in (vars(UnreadText)[name], vars(str)[name])
}
"""id of a method → that of str, for methods that make a text of texts: it is not read before the result is."""
_HANDS_ON = frozenset(
    map(
        id,
        (
            *(
                len,
                enumerate,
                zip,
                reversed,
                iter,
                next,
                list,
                tuple,
                list.copy,
                list.pop,
                list.reverse,
                dict.copy,
                deque,
            ),
            *(itertools.chain, itertools.islice, itertools.zip_longest, itertools.repeat, itertools.cycle),
            *(list.__iter__, tuple.__iter__),
        ),
    )
)
"""The ids of functions that give the items of their arguments, or hold them, and do not look at them."""
_KEEPS = frozenset(map(id, (list.append, list.insert, list.extend, deque.append, deque.appendleft, deque.extend)))


def call_text_reader(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """str.join(separator, parts) and the like, whose C code reads the texts: the parts are made first, and examined."""
    if len(args) != 2 or kwargs or type(args[1]) in (list, tuple, str) or not hasattr(type(args[1]), "__iter__"):
        return NOT_HANDLED
    return tracer.vm.call(fn, (args[0], tracer.vm.call(list, (args[1],))))


def before_write(tracer: TracerView, owner: Any, value: Any) -> None:
    """A text is stored in an object that was there before the run: a later call may look at it."""
    if tracer.writes.is_old(owner):
        read_all((value,))


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for what may look at the characters of a text."""
    if type(fn) is LruCacheWrapper:  # reads the texts of its key, as far as it looks it up (features/caches)
        return None
    return None if id(fn) in _LOOKS or id(fn) in tracer.plans.skipped else check_call


def check_call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Check a call that may run natively: C code reads its arguments. An exception keeps a text, to show it."""
    texts = texts_in((*args, *kwargs.values()))
    if id(fn) in _LOOKS_UP:
        texts = [text for text in texts if type(text) is not UniqueText]
    if id(fn) in _HANDS_ON and not any(isinstance(arg, UnreadText) for arg in args):
        return NOT_HANDLED
    if not texts or _is_interpreted(fn) or _hands_on(fn) or (id(fn) in _KEEPS and not tracer.writes.is_old(args[0])):
        return NOT_HANDLED
    if id(fn) in _MAKES_TEXT and not any(type(text) is UniqueText for text in texts):
        made = _made(_MAKES_TEXT[id(fn)], args, kwargs)
        if made is not None:
            return unread(made, lambda: read_all(texts))
    for text in texts:
        text.read()
    return NOT_HANDLED


def _made(method: Callable[..., str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return a str method's result for the texts as they are in the example; None if it would run code or raise."""
    parts = args[1] if method is str.join and len(args) == 2 else ()
    if method is str.join and not (type(parts) in (list, tuple) and all(issubclass(type(part), str) for part in parts)):
        return None
    try:
        return method(*map(_as_it_stands, args), **kwargs)
    except (TypeError, ValueError):
        return None


def _as_it_stands(value: Any) -> Any:
    if type(value) in (list, tuple):
        return [*map(str.__str__, value)]
    return str.__str__(value) if type(value) is UnreadText else value


def _hands_on(fn: Any) -> bool:
    """Whether a callable only keeps its arguments, or passes them to interpreted functions in calls of their own."""
    if not isinstance(fn, type):
        if getattr(fn, "__name__", None) in ("__new__", "__init__"):  # as a class of the program's calls them
            owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", None)
            return isinstance(owner, type) and issubclass(owner, BaseException)
        return _is_interpreted(getattr_static(type(fn), "__call__", None))
    if issubclass(fn, BaseException):
        return True
    new = getattr_static(fn, "__new__")
    handed_on = new is getattr_static(object, "__new__") or _is_interpreted(getattr(new, "__func__", None))
    plain_type = getattr_static(type(fn), "__call__") is getattr_static(type, "__call__")
    return plain_type and handed_on and _is_interpreted(getattr_static(fn, "__init__"))


def _is_interpreted(function: Any) -> bool:
    return type(function) is FunctionType and not is_trusted(function)
