"""sorted(s, key=f), min(s), max(s) of a set whose order depends on addresses: equal items come in the set's order.

The keys are computed once each, in the set's order, and compared by the operator that CPython uses. Items of which
neither comes before the other show the order, which differs between runs: refused (hashing.py has other uses).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

from dynamo_lite.features.identity.hashing import refuse_order, shows_address
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_BEFORE: dict[Any, Any] = {sorted: operator.lt, min: operator.lt, max: operator.gt}
_OPTIONS = {"sorted": {"key", "reverse"}, "min": {"key"}, "max": {"key"}}


def _call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or type(args[0]) not in (set, frozenset) or not kwargs.keys() <= _OPTIONS[fn.__name__]:
        return NOT_HANDLED
    if not shows_address(tracer, args[0]):
        return NOT_HANDLED
    items, key = list(args[0]), kwargs.get("key")
    keys = items if key is None else [tracer.vm.call(key, (item,)) for item in items]
    if any(map(is_fake, keys)):
        tracer.vm.call(fn, (keys,))  # is refused: data are compared
    before = _comparison(tracer, keys, _BEFORE[fn])
    if fn is sorted:
        return _sorted(tracer, items, before, bool(kwargs.get("reverse")))
    first = functools.reduce(lambda best, at: at if before(at, best) else best, range(len(items)))
    if not all(at == first or before(first, at) for at in range(len(items))):
        refuse_order(tracer)
    return items[first]


def _comparison(tracer: TracerView, keys: list[Any], asked: Any) -> Callable[[int, int], bool]:
    @functools.cache
    def before(left: int, right: int) -> bool:
        return bool(tracer.vm.call(asked, (keys[left], keys[right])))

    return before


def _sorted(tracer: TracerView, items: list[Any], before: Callable[[int, int], bool], reverse: bool) -> list[Any]:
    def compared(left: int, right: int) -> int:
        return -1 if before(left, right) else 0

    order = sorted(range(len(items)), key=functools.cmp_to_key(compared), reverse=reverse)
    for left, right in itertools.pairwise(order):
        if not (before(right, left) if reverse else before(left, right)):
            refuse_order(tracer)
    return [items[at] for at in order]


PICK: Final[dict[int, Step]] = dict.fromkeys(map(id, _BEFORE), _call)
"""The steps of call plans for what picks items of a set by a comparison, by the id of the callable."""
