"""match: class, mapping and sequence patterns (PEP 634)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.code.type_names import type_name
from dynamo_lite.interpreter.interfaces import VM

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame


Stack = list[Any]

# Include/object.h
_SEQUENCE: Final = 1 << 5
_MAPPING: Final = 1 << 6
_MATCH_SELF: Final = 1 << 22


@handler
def MATCH_SEQUENCE(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(bool(type(stack[-1]).__flags__ & _SEQUENCE))


@handler
def MATCH_MAPPING(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(bool(type(stack[-1]).__flags__ & _MAPPING))


@handler
def MATCH_KEYS(frame: Frame, stack: Stack, _: int) -> None:
    """subject, keys -> the same, the tuple of values or None when a key is missing"""
    subject, keys = stack[-2], stack[-1]
    stack.append(_match_keys(frame.vm, subject, keys))


def _match_keys(vm: VM, subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    if not keys:
        return ()
    get = vm.getattr(subject, "get")
    seen: set[Any] = set()
    values = []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = vm.call(get, (key, MISSING))
        if value is MISSING:
            return None
        values.append(value)
    return tuple(values)


@handler
def MATCH_CLASS(frame: Frame, stack: Stack, count: int) -> None:
    """subject, class, names -> the tuple of the `count` positional and the named attributes, or None"""
    names, cls, subject = stack.pop(), stack.pop(), stack.pop()
    stack.append(_match_class(frame.vm, subject, cls, count, names))


def _match_class(vm: VM, subject: Any, cls: Any, count: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not vm.call(isinstance, (subject, cls)):
        return None
    found: list[Any] = []
    seen: set[str] = set()
    if count:
        attributes = _positional(vm, cls, count)
        if attributes is None:
            found.append(subject)
        else:
            for name in attributes:
                if not isinstance(name, str):
                    raise TypeError(f"__match_args__ elements must be strings (got {type_name(type(name))})")
                if not _attribute(vm, subject, cls, name, seen, found):
                    return None
    for name in names:
        if not _attribute(vm, subject, cls, name, seen, found):
            return None
    return tuple(found)


def _positional(vm: VM, cls: type, count: int) -> tuple[Any, ...] | None:
    """The names of the first `count` positional sub-patterns; None when the one is the subject itself (int(x), ...)."""
    match_args = vm.getattr(cls, "__match_args__", MISSING)
    match_self = match_args is MISSING and bool(cls.__flags__ & _MATCH_SELF)
    if match_args is MISSING:
        match_args = ()
    elif type(match_args) is not tuple:
        raise TypeError(f"{type_name(cls)}.__match_args__ must be a tuple (got {type_name(type(match_args))})")
    allowed = 1 if match_self else len(match_args)
    if allowed < count:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{type_name(cls)}() accepts {allowed} positional sub-pattern{plural} ({count} given)")
    return None if match_self else match_args[:count]


def _attribute(vm: VM, subject: Any, cls: type, name: str, seen: set[str], found: list[Any]) -> bool:
    if name in seen:
        raise TypeError(f"{type_name(cls)}() got multiple sub-patterns for attribute {name!r}")
    seen.add(name)
    value = vm.getattr(subject, name, MISSING)
    found.append(value)
    return value is not MISSING
