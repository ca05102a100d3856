"""Texts that are formatted on demand, as they depend on a tensor's data or on the number of a size.

Most such texts are messages of checks that hold: made, passed on and dropped. So an f-string with a tensor or a size in
it costs nothing until it is read. Then a tensor's is refused, and a size's fixes the size. Python code reads a text by
its methods; C code may look at the characters at once (features/texts/native_readers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dynamo_lite.value_types import CONTAINERS

_CONTAINERS: tuple[Any, ...] = CONTAINERS


class UnreadText(str):
    """A text as it is in the example. Any use but `is` and `isinstance` calls `read()` first.

    `read()` raises, or records the text's dependencies: from then on it is right as it stands. `known`: the text with
    dots for what is not known.
    """

    __slots__ = ("known", "read")
    read: Callable[[], None]
    known: str

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
        made.read, made.known = read, UNKNOWN
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


UNKNOWN = "..."

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


def unread(text: str, read: Callable[[], None], known: str = UNKNOWN) -> UnreadText:
    """`text`, which calls `read` at the first look at its characters."""
    made = str.__new__(UnreadText, str.__str__(text))  # str.__format__ may give the unread text itself
    made.read, made.known = read, known
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
    return unread(text, read, "".join(map(known_words, parts))) if waiting else text


def known_words(text: str) -> str:
    """The text with dots for what depends on data or on a size."""
    return object.__getattribute__(text, "known") if isinstance(text, UnreadText) else text


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
