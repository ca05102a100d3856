"""Text that shows where an object lies in memory: `<Box object at 0x7f...>`, which is another one in each process.

The text itself is harmless (a message, a key that is looked up again). Refused is what would put it into the program:
an output that is such a text or has it for a key, and an order that is made by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")
ORDERS = frozenset(map(id, (sorted, min, max, list.sort)))
"""The ids of the C functions that order values."""
_TEXTS = frozenset(map(id, (repr, str, ascii, object.__repr__, object.__str__)))
_DEFAULT = frozenset({object.__repr__, type(lambda: None).__repr__, type(len).__repr__})
FUNCTION = "object.__repr__"
RETURNED = "the program returns a text with the address of an object, which is another one in each process"


def shown(value: Any) -> bool:
    """Whether `value` is a text with an address in it."""
    return type(value) is str and _ADDRESS.search(value) is not None


def in_output(leaves: Iterable[tuple[Any, Any]]) -> bool:
    """Whether an address is in what the program returns, as (path, leaf): a leaf, or a key of a dict."""
    return any(shown(leaf) or any(shown(getattr(key, "key", None)) for key in path) for path, leaf in leaves)


def check_order(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Before a call of one of ORDERS: refuses an order by addresses."""
    if not args:
        return
    items = args[0] if len(args) == 1 else args
    if type(items) not in (list, tuple, set, frozenset, dict):
        return
    if _has_addresses(items, id(kwargs.get("key")) in _TEXTS):
        tracer.refuse("unrecordable-id", function=FUNCTION)


def _has_addresses(items: Iterable[Any], as_text: bool) -> bool:
    return any(shown(item) or (as_text and type(item).__repr__ in _DEFAULT) for item in items)
