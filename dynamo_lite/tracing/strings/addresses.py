"""Text that shows where an object lies in memory: `<Box object at 0x7f...>`, which is another one in each process.

The text itself is harmless (a message, a key that is looked up again). Refused is what would put it into the program:
an output that is such a text or has it for a key, and an order that is made by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Trace

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")
ORDERS = frozenset(map(id, (sorted, min, max, list.sort)))
"""The ids of the C functions that order values."""
_TEXTS = frozenset(map(id, (repr, str, ascii, object.__repr__, object.__str__)))
_DEFAULT = frozenset({object.__repr__, type(lambda: None).__repr__, type(len).__repr__})
_LAZY = frozenset({map, filter, GeneratorType})
FUNCTION = "object.__repr__"
RETURNED = "the program returns a text with the address of an object, which is another one in each process"


def shown(value: Any) -> bool:
    """Whether `value` is a text with an address in it."""
    return type(value) is str and _ADDRESS.search(value) is not None


def in_output(leaves: Iterable[tuple[Any, Any]]) -> bool:
    """Whether an address is in what the program returns, as (path, leaf): a leaf, or a key of a dict."""
    return any(shown(leaf) or any(shown(getattr(key, "key", None)) for key in path) for path, leaf in leaves)


def order(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of ORDERS: refuses an order by addresses. What a lazy iterator gives is made first, as C does."""
    if not args:
        return NOT_HANDLED
    items = args[0] if len(args) == 1 else args
    if type(items) in _LAZY and len(args) == 1:
        return tracer.vm.call(fn, (tracer.vm.call(list, args),), kwargs)
    if type(items) in (list, tuple, set, frozenset, dict) and _has_addresses(items, id(kwargs.get("key")) in _TEXTS):
        tracer.refuse("unrecordable-id", function=FUNCTION)
    return NOT_HANDLED


def _has_addresses(items: Iterable[Any], as_text: bool) -> bool:
    return any(shown(item) or (as_text and type(item).__repr__ in _DEFAULT) for item in items)
