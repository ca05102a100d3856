"""Building containers, unpacking, formatting."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING, NULL
from dynamo_lite.interpreter.code.type_names import callee_name, type_name
from dynamo_lite.interpreter.interfaces import VM
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

from .. import datamodel

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame


Stack = list[Any]


def _take(stack: Stack, count: int) -> list[Any]:
    """The last `count` values, taken off the stack."""
    start = len(stack) - count
    taken = stack[start:]
    del stack[start:]
    return taken


def _put(vm: VM, target: dict[Any, Any], key: Any, value: Any) -> None:
    """Fill a dict that is being built (not a write that an observer needs to see)."""
    if type(key) in HOLD_NO_FUNCTIONS:
        target[key] = value
    else:
        key = key if vm.on_key is None else vm.on_key(key)
        _arm_parts(vm, key)
        vm.trampolines.apply_shallow(operator.setitem, target, key, value)


def _add(vm: VM, target: set[Any], item: Any) -> None:
    if type(item) in HOLD_NO_FUNCTIONS:
        target.add(item)
    else:
        item = item if vm.on_key is None else vm.on_key(item)
        _arm_parts(vm, item)
        vm.trampolines.apply_shallow(set.add, target, item)


def _arm_parts(vm: VM, key: Any) -> None:
    """The hash and comparison of a tuple, as a key, are made of those of its elements."""
    if issubclass(type(key), (tuple, frozenset)):
        vm.trampolines.arm(key, vm.trampolines.narrowly)


@handler
def BUILD_TUPLE(frame: Frame, stack: Stack, count: int) -> None:
    stack.append(tuple(_take(stack, count)))


@handler
def BUILD_LIST(frame: Frame, stack: Stack, count: int) -> None:
    stack.append(_take(stack, count))


@handler
def BUILD_SET(frame: Frame, stack: Stack, count: int) -> None:
    built: set[Any] = set()
    for item in _take(stack, count):
        _add(frame.vm, built, item)
    stack.append(built)


@handler
def BUILD_MAP(frame: Frame, stack: Stack, count: int) -> None:
    items = _take(stack, 2 * count)
    built: dict[Any, Any] = {}
    for key, value in zip(items[::2], items[1::2]):
        _put(frame.vm, built, key, value)
    if frame.vm.made_dicts is not None:
        frame.vm.made_dicts.add(id(built))
    stack.append(built)


@handler
def BUILD_CONST_KEY_MAP(frame: Frame, stack: Stack, count: int) -> None:
    keys = stack.pop()
    built = dict(zip(keys, _take(stack, count)))
    if frame.vm.made_dicts is not None:
        frame.vm.made_dicts.add(id(built))
    stack.append(built)


@handler
def BUILD_STRING(frame: Frame, stack: Stack, count: int) -> None:
    parts = _take(stack, count)
    on_text = frame.vm.on_text
    plain = on_text is None or all(type(part) is str for part in parts)
    stack.append("".join(parts) if plain else on_text(parts))


@handler
def BUILD_SLICE(frame: Frame, stack: Stack, count: int) -> None:
    stack.append(slice(*_take(stack, count)))


@handler
def LIST_APPEND(frame: Frame, stack: Stack, depth: int) -> None:
    item = stack.pop()
    stack[-depth].append(item)


@handler
def SET_ADD(frame: Frame, stack: Stack, depth: int) -> None:
    item = stack.pop()
    _add(frame.vm, stack[-depth], item)


@handler
def MAP_ADD(frame: Frame, stack: Stack, depth: int) -> None:
    """key, value -> ; into the dict at `depth`"""
    value, key = stack.pop(), stack.pop()
    _put(frame.vm, stack[-depth], key, value)


@handler
def LIST_TO_TUPLE(frame: Frame, stack: Stack, _: int) -> None:
    items = stack[-1]
    stack[-1] = tuple(items) if type(items) is list else frame.vm.call(tuple, (items,))


# ---------------------------------------------------------------------- iterables into containers


def is_iterable(x: Any) -> bool:
    """Whether iter(x) may succeed: CPython checks this to choose the message of a TypeError."""
    cls = type(x)
    return datamodel.type_lookup(cls, "__iter__") is not datamodel.MISSING or (
        not issubclass(cls, dict) and datamodel.type_lookup(cls, "__getitem__") is not datamodel.MISSING
    )


def collect(vm: VM, iterable: Any, asks_length: bool = True) -> list[Any]:
    """list(iterable), with Python code in it interpreted."""
    if type(iterable) in (list, tuple):
        if vm.on_look is not None:
            vm.on_look("items", iterable)
        return list(iterable)
    iterator = datamodel.iter_(vm, iterable)
    if asks_length:
        datamodel.call_length_hint(vm, iterable)
    found = []
    while (item := datamodel.advance(vm, iterator, MISSING)) is not MISSING:
        found.append(item)
    return found


@handler
def LIST_EXTEND(frame: Frame, stack: Stack, depth: int) -> None:
    iterable = stack.pop()
    if frame.vm.on_extend is not None:
        made = frame.vm.on_extend(stack[-depth], iterable)
        if made is not NOT_HANDLED:
            stack[-depth] = made
            return
    if not is_iterable(iterable):
        raise TypeError(f"Value after * must be an iterable, not {type_name(type(iterable))}")
    stack[-depth].extend(collect(frame.vm, iterable))


@handler
def SET_UPDATE(frame: Frame, stack: Stack, depth: int) -> None:
    iterable = stack.pop()
    target = stack[-depth]
    vm = frame.vm
    cls = type(iterable)
    if cls is dict or issubclass(cls, (set, frozenset)):
        # CPython copies tables (Objects/setobject.c, set_update_internal): the order of the result is that of the
        # copied table, and a subclass's own `__iter__` is not called.
        if vm.on_look is not None:
            vm.on_look("keys" if cls is dict else "items", iterable)
        vm.trampolines.call(set.update, (target, iterable))
    elif cls in (list, tuple):
        for item in collect(vm, iterable):
            _add(vm, target, item)
    else:
        iterator = datamodel.iter_(vm, iterable)
        while (item := datamodel.advance(vm, iterator, MISSING)) is not MISSING:
            _add(vm, target, item)


@handler
def DICT_UPDATE(frame: Frame, stack: Stack, depth: int) -> None:
    mapping = stack.pop()
    vm, target = frame.vm, stack[-depth]
    try:
        _merge(vm, target, mapping, None)
        return
    except AttributeError:  # CPython takes any for "it has no keys()"
        pass
    raise TypeError(f"'{type_name(type(mapping))}' object is not a mapping")


def _merge(vm: VM, target: dict[Any, Any], mapping: Any, check: Callable[[Any], None] | None) -> None:
    """dict.update: a dict's own items, else keys() and []. Each key is checked before its value is read."""
    cls = type(mapping)
    if issubclass(cls, dict) and datamodel.type_lookup(cls, "__iter__") is dict.__iter__:
        if vm.on_look is not None:
            vm.on_look("unordered", mapping, target)
        if not target or check is None:
            _merge_dict(vm, target, mapping)
            return
        for key, value in list(dict.items(mapping)):
            check(key)
            _put(vm, target, key, value)
        return
    keys = vm.call(vm.getattr(mapping, "keys"))
    if not is_iterable(keys):
        raise TypeError(f"{type_name(cls)}.keys() returned a non-iterable (type {type_name(type(keys))})")
    for key in collect(vm, datamodel.iter_(vm, keys)):  # both PyMapping_Keys and the list that it makes call __iter__
        if check is not None:
            check(key)
        _put(vm, target, key, datamodel.getitem(vm, mapping, key))


def _merge_dict(vm: VM, target: dict[Any, Any], mapping: dict[Any, Any]) -> None:
    """No key is hashed again: the dict that is read has kept the hash of each."""
    if HOLD_NO_FUNCTIONS.issuperset(map(type, mapping)):
        dict.update(target, mapping)
        return
    if vm.on_key is not None:
        for key in mapping:
            vm.on_key(key)
    vm.trampolines.apply(dict.update, target, mapping)


def dict_merge(vm: VM, target: dict[Any, Any], mapping: Any, callee: Any) -> None:
    """f(**mapping): each keyword once. Raises CPython's TypeErrors, which name the callee."""

    def check(key: Any) -> None:
        if datamodel.contains(vm, target, key):
            raise TypeError(f"{callee_name(callee)} got multiple values for keyword argument '{key}'")

    try:
        _merge(vm, target, mapping, check)  # a key that is not a str is an error of the call, not of the merging
        return
    except AttributeError:  # CPython takes any for "it has no keys()"
        kind = type_name(type(mapping))
    raise TypeError(f"{callee_name(callee)} argument after ** must be a mapping, not {kind}")


def callee_under(stack: Stack, depth: int) -> Any:
    """The callable of the pair below the last `depth` values (see _pop_callee)."""
    first, second = stack[-depth - 2], stack[-depth - 1]
    return second if first is NULL else first


@handler
def DICT_MERGE(frame: Frame, stack: Stack, depth: int) -> None:
    """callee pair, positional arguments, dict ..., mapping -> the same without the mapping"""
    mapping = stack.pop()
    dict_merge(frame.vm, stack[-depth], mapping, callee_under(stack, depth + 1))


# ---------------------------------------------------------------------- unpacking


def _iterate_to_unpack(vm: VM, x: Any) -> Any:
    if not is_iterable(x):
        raise TypeError(f"cannot unpack non-iterable {type_name(type(x))} object")
    return datamodel.iter_(vm, x)


@handler
def UNPACK_SEQUENCE(frame: Frame, stack: Stack, count: int) -> None:
    """sequence -> its items, the first on top"""
    sequence = stack.pop()
    if frame.vm.on_look is not None:
        frame.vm.on_look("items", sequence)
    if type(sequence) in (tuple, list) and len(sequence) == count:
        stack.extend(sequence[::-1])
        return
    vm = frame.vm
    iterator = _iterate_to_unpack(vm, sequence)
    items = _advance_times(vm, iterator, count, f"expected {count}")
    if datamodel.advance(vm, iterator, MISSING) is not MISSING:
        raise ValueError(f"too many values to unpack (expected {count}{_given(sequence, count)})")
    stack.extend(items[::-1])


def _given(sequence: Any, count: int) -> str:
    """The number of values, which 3.14 reports if it is known without a call."""
    known = VERSION >= (3, 14) and type(sequence) in (list, tuple, dict) and len(sequence) > count
    return f", got {len(sequence)}" if known else ""


def _advance_times(vm: VM, iterator: Any, count: int, expected: str) -> list[Any]:
    items: list[Any] = []
    while len(items) < count:
        item = datamodel.advance(vm, iterator, MISSING)
        if item is MISSING:
            raise ValueError(f"not enough values to unpack ({expected}, got {len(items)})")
        items.append(item)
    return items


@handler
def UNPACK_EX(frame: Frame, stack: Stack, counts: int) -> None:
    """sequence -> `counts & 255` items, the list of the middle, `counts >> 8` items; the first on top"""
    before, after = counts & 255, counts >> 8
    vm = frame.vm
    iterator = _iterate_to_unpack(vm, stack.pop())
    items = _advance_times(vm, iterator, before, f"expected at least {before + after}")
    rest = collect(vm, iterator)
    if len(rest) < after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {before + len(rest)})"
        )
    split = len(rest) - after
    stack.extend([*items, rest[:split], *rest[split:]][::-1])


# ---------------------------------------------------------------------- formatting

_CONVERSIONS: Final = (None, datamodel.str_, datamodel.repr_, datamodel.ascii_)


@handler
def CONVERT_VALUE(frame: Frame, stack: Stack, kind: int) -> None:
    """value -> str(value), repr(value) or ascii(value)"""
    convert = _CONVERSIONS[kind]
    assert convert is not None
    text = convert(frame.vm, stack[-1])
    stack[-1] = text if frame.vm.on_formatted is None else frame.vm.on_formatted(text)


@handler
def FORMAT_VALUE(frame: Frame, stack: Stack, arg: tuple[int, bool]) -> None:
    """value, [spec] -> the formatted string; arg is (conversion, whether there is a spec)"""
    conversion, has_spec = arg
    spec = str(stack.pop()) if has_spec else ""
    value = stack[-1]
    convert = _CONVERSIONS[conversion]
    if convert is not None:
        value = convert(frame.vm, value)
    text = value if type(value) is str and not spec else datamodel.format_(frame.vm, value, spec)
    stack[-1] = text if frame.vm.on_formatted is None else frame.vm.on_formatted(text)
