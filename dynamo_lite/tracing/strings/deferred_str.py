"""Texts that are formatted on demand, as they depend on a tensor's data or on the number of a size.

Most such texts are messages of checks that hold: made, passed on and dropped. So an f-string with a tensor or a size in
it costs nothing until it is read. Then a tensor's is refused, and a size's fixes the size (`formatting.py`). Python
code reads a text by its methods; C code may look at the characters at once, so the tracer checks the arguments of C
code (`check_call`).
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from inspect import getattr_static
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper
from dynamo_lite.value_types import CONTAINERS

_LOOKS = frozenset(map(id, (isinstance, callable, id, type, object.__new__, print, warnings.warn, torch._assert)))
"""The ids of functions that do not read a text. (Where print() and warnings.warn() do, output.py reads.)"""

_LOOKS_UP = frozenset(
    map(
        id,
        (
            *(dict.get, dict.pop, dict.setdefault, dict.update, dict.keys, dict.values, dict.items),
            *(dict.__contains__, dict.__getitem__, set.__contains__, set.add, set.discard, set.remove, set.update),
        ),
    )
)
"""The ids of functions that only compare a text with others."""
_CONTAINERS: tuple[Any, ...] = CONTAINERS


class UnreadText(str):
    """A text as it is in the example. Any use but `is` and `isinstance` calls `read()` first.

    `read()` raises, or records the text's dependencies: from then on it is right as it stands.
    """

    __slots__ = ("read",)
    read: Callable[[], None]

    def __format__(self, spec: str) -> str:
        return self if not spec else unread(str.__format__(self, spec), self.read)

    def __add__(self, other: Any) -> Any:
        return joined((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __bool__(self) -> bool:
        return bool(plain(self))


class UniqueText(UnreadText):
    """A text that differs in each call, as a UUID's does: it is equal to itself, and so are the parts of it that are
    long enough, and texts made of it."""

    __slots__ = ()

    @classmethod
    def made_of(cls, text: str, read: Callable[[], None]) -> UniqueText:
        made = str.__new__(cls, text)
        made.read = read
        return made

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        equal = isinstance(other, str) and str.__eq__(self, other)
        if equal and type(other) is not UniqueText:
            self.read()  # the program knows it from elsewhere
        return equal

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, key: Any) -> str:
        part = str.__getitem__(self, key)
        if len(part) < _UNIQUE:
            self.read()
        return UniqueText.made_of(part, self.read)

    def __format__(self, spec: str) -> str:
        return UniqueText.made_of(str.__format__(self, spec), self.read)

    def __str__(self) -> str:
        return self


_UNIQUE = 8
"""Digits of a UUID that no other has."""


def _reading(name: str) -> Callable[..., Any]:
    method = getattr(str, name)

    def read_first(self: UnreadText, *args: Any, **kwargs: Any) -> Any:
        read_all((self, *args, *kwargs.values()))
        return method(self, *args, **kwargs)

    return read_first


_OWN = {*vars(UnreadText), "__new__", "__doc__", "__getattribute__", "__init__", "__init_subclass__"}
for _name in vars(str).keys() - _OWN:
    setattr(UnreadText, _name, _reading(_name))


_TEXTS_OF_TEXTS = (
    *("ljust", "rjust", "center", "zfill", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace"),
    *("upper", "lower", "title", "capitalize", "swapcase", "casefold", "expandtabs", "join"),
)
_MAKES_TEXT: dict[int, Any] = {
    id(method): getattr(str, name) for name in _TEXTS_OF_TEXTS for method in (vars(UnreadText)[name], vars(str)[name])
}
"""id of a method → that of str, for methods that make a text of texts: it is not read before the result is."""
_KEEPS = frozenset(map(id, (list.append, list.insert, list.extend, deque.append, deque.appendleft, deque.extend)))


def unread(text: str, read: Callable[[], None]) -> UnreadText:
    """`text`, which calls `read` at the first look at its characters."""
    made = str.__new__(UnreadText, str.__str__(text))  # str.__format__ may give the unread text itself
    made.read = read
    return made


def plain(text: str) -> str:
    """The text as an ordinary one: it is read."""
    return UnreadText.__str__(text) if isinstance(text, UnreadText) else str.__str__(text)


def joined(parts: Sequence[str]) -> str:
    """The parts in a row, none of them read."""
    waiting = [part for part in parts if isinstance(part, UnreadText)]
    text = "".join([str.__str__(part) for part in parts])

    def read() -> None:
        for part in waiting:
            part.read()

    if any(type(part) is UniqueText for part in waiting):
        return UniqueText.made_of(text, read)
    return unread(text, read) if waiting else text


def texts_in(values: Iterable[Any]) -> list[UnreadText]:
    """The texts among the values and in containers among them."""
    found: list[UnreadText] = []
    todo, seen = [*values], set()
    while todo:
        value = todo.pop()
        if issubclass(type(value), UnreadText):
            found.append(value)
        elif issubclass(type(value), _CONTAINERS) and id(value) not in seen:
            seen.add(id(value))
            base = next(base for base in _CONTAINERS if issubclass(type(value), base))
            todo += base.__iter__(value)  # bypassing overrides of a subclass
            todo += dict.values(value) if base is dict else ()
    return found


def read_all(values: Iterable[Any]) -> None:
    """Read each text among the values and in containers among them."""
    for text in texts_in(values):
        text.read()


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
    if texts and (id(fn) in _LOOKS_UP or (fn is len and issubclass(type(args[0]), _CONTAINERS))):
        texts = [text for text in texts if type(text) is not UniqueText]
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
