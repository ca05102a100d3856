"""Text with the address of an object: `<Box object at 0x7f...>`, which differs in each process.

The text itself is harmless (a message, a key that is looked up again). Refused are uses that would put it into the
program: an output that is such a text or has it for a key, an order that depends on it, and operations that take the
address apart (a slice, `encode`, `int(text, 16)`): a call whose result for the text with other digits is not the same
result with those digits.
"""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any, Final

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.interfaces import Step, TracerView

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}|^0x[0-9a-fA-F]{9,}")
_DIGITS = "0123456789abcdefABCDEF"
_SAME_DIGITS = [len(_DIGITS) * digit for digit in _DIGITS[:16]]
_OTHER_DIGITS = [str.maketrans(_DIGITS, others) for others in ("89abcdef0123456789abcd", *_SAME_DIGITS)]
"""Digits for digits: one table is not enough, for `text.count("7")` may be the same with other digits."""
_TEXTS = frozenset(map(id, (repr, str, ascii, object.__repr__, object.__str__)))
_DEFAULT = frozenset({object.__repr__, type(lambda: None).__repr__, type(len).__repr__})
_KEEP_WHOLE = frozenset(
    {"__new__", "__hash__", "__len__", "__repr__", "__getattribute__", "__sizeof__", "__eq__", "__ne__"}
)
_LAZY = frozenset({map, filter, GeneratorType})
FUNCTION = "object.__repr__"
RETURNED = "the program returns a text with the address of an object, which is another one in each process"


def shows_address(value: Any) -> bool:
    """Whether `value` is a text with an address in it."""
    return type(value) is str and _ADDRESS.search(value) is not None


def check_outputs(run: FinishedRun, call: CallRecord) -> None:
    """A text of the program's result, or a key of it, that names an address is another in each call."""
    assert call.flat is not None
    for path, leaf in call.flat.leaves:
        if shows_address(leaf) or any(shows_address(getattr(key, "key", None)) for key in path):
            if not run.tracer.lets_pass(RETURNED):
                raise run.tracer.graph_break("unrecordable-id", function=FUNCTION)
            return


def order(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of ORDER: refuses an order by addresses. Items of a lazy iterator are made first, as C does."""
    if not args:
        return NOT_HANDLED
    items = args[0] if len(args) == 1 else args
    if type(items) in _LAZY and len(args) == 1:
        return tracer.vm.call(fn, (tracer.vm.call(list, args),), kwargs)
    if type(items) in (list, tuple, set, frozenset, dict) and _has_addresses(items, id(kwargs.get("key")) in _TEXTS):
        tracer.refuse("unrecordable-id", function=FUNCTION)
    return NOT_HANDLED


def _has_addresses(items: Iterable[Any], as_text: bool) -> bool:
    return any(shows_address(item) or (as_text and type(item).__repr__ in _DEFAULT) for item in items)


def _with_digits(value: Any, digits: dict[int, int]) -> Any:
    """Return the value with another address in each text that shows one; `digits` maps digits to their replacements."""
    if type(value) is str:
        return _ADDRESS.sub(lambda found: _other(found[0], digits), value)
    if type(value) in (list, tuple):
        return type(value)(_with_digits(item, digits) for item in value)
    return (value.regs, _with_digits(value.groups(), digits)) if isinstance(value, re.Match) else value


def _other(address: str, digits: dict[int, int]) -> str:
    start = address.index("x") + 1
    return address[:start] + address[start:].translate(digits)


def _answer(operation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        answer = operation(*args, **kwargs)
    except Exception as error:
        return type(error)
    return (answer.regs, answer.groups()) if isinstance(answer, re.Match) else answer


def takes_apart(operation: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the result of `operation`, which only reads, depends on the digits of an address."""
    answer = _answer(operation, args, kwargs)
    for digits in _OTHER_DIGITS:
        other_kwargs = {name: _with_digits(value, digits) for name, value in kwargs.items()}
        if _with_digits(answer, digits) != _answer(operation, _with_digits(args, digits), other_kwargs):
            return True
    return False


def check_read(tracer: TracerView, operation: Callable[..., Any], *args: Any) -> None:
    """Check a read of a part of a text, or a test whether something is in it."""
    if any(map(shows_address, args)) and not tracer.in_library() and takes_apart(operation, args, {}):
        tracer.refuse("unrecordable-id", function=FUNCTION)


def read_part(tracer: TracerView, owner: str, key: Any) -> None:
    """The program reads `owner[key]` of a text."""
    check_read(tracer, operator.getitem, owner, key)


def look_for_part(tracer: TracerView, owner: str, key: Any) -> None:
    """The program asks whether `key` is in a text."""
    check_read(tracer, operator.contains, owner, key)


def check_items(tracer: TracerView, text: str, key: Any) -> None:
    """The program goes through the characters of a text."""
    if shows_address(text) and not tracer.in_library():
        tracer.refuse("unrecordable-id", function=FUNCTION)


def _call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    texts = [arg for arg in (*args, *kwargs.values()) if shows_address(arg)]
    if not texts or tracer.in_library() or not all(type(arg) in _PLAIN for arg in (*args, *kwargs.values())):
        return NOT_HANDLED
    if takes_apart(fn, args, kwargs):
        tracer.refuse("unrecordable-id", function=FUNCTION)
    return NOT_HANDLED


ORDER: Final[dict[int, Step]] = dict.fromkeys(map(id, (sorted, min, max, list.sort)), order)
"""The steps of call plans for the C functions that order values, by the id of the function."""
_PLAIN = frozenset({str, int, bool, float, bytes, dict, re.Pattern, type(None)})
_OF_PATTERNS = ("match", "fullmatch", "search", "findall", "split", "sub", "subn")
READERS: Final[dict[int, Step]] = dict.fromkeys(
    [
        *(id(member) for name, member in vars(str).items() if callable(member) and name not in _KEEP_WHOLE),
        *(id(vars(re.Pattern)[name]) for name in _OF_PATTERNS),
        *(id(vars(re)[name]) for name in _OF_PATTERNS),
        *map(id, (builtins.int, builtins.ord, bytes, bytearray, list, tuple, set, frozenset)),
    ],
    _call,
)
"""The steps of call plans for what reads texts, by the id of the callable."""
