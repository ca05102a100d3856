"""functools.lru_cache during a trace: read the program's caches, never fill them.

A result that a call would store in an older cache belongs to the trace (it may hold FakeTensors), so results are stored
in a table of the trace's own. An existing entry of such a cache is eager's result, so it is looked up, through the
collector's view of the wrapper: a lookup through the wrapper itself would count a hit.

Checked against CPython 3.11, 3.12 and 3.13 (Modules/_functoolsmodule.c, lru_cache_tp_traverse and lru_cache_make_key).
"""

from __future__ import annotations

import functools
import gc
import logging
from collections.abc import Callable
from typing import Any, NoReturn

from dynamo_lite.features.output import log_calls
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, in_dropped_text
from dynamo_lite.tracing.vocabulary.symbolic_numbers import holds_size
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper

MISS = object()


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a cached function."""
    return call_cached if type(fn) is LruCacheWrapper else None


def call_cached(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function cached by functools.lru_cache; one that the program itself has cached fills its own cache."""
    if id(fn) in tracer.own(LruCaches).own_wrappers:
        tracer.on_hidden_change(fn)
        return NOT_HANDLED
    return tracer.own(LruCaches).call(fn, args, kwargs, tracer.vm.call)


class LruCaches(FeatureState):
    """The results of cached functions in one trace."""

    def __init__(self, tracer: TracerView) -> None:
        self.own_wrappers: set[int] = set()  # ids of the wrappers that the program itself made
        self._results: dict[tuple[int, Any], Any] = {}
        self._by_size: list[tuple[Any, Any, Any]] = []  # wrapper, key with sizes in it, result
        self._alive: list[Any] = []
        self.hits: list[tuple[Any, Any, Any]] = []  # wrapper, key, result: what the cache held before the run

    def save(self) -> tuple[Any, Any]:
        return dict(self._results), list(self._by_size)

    def restore(self, saved: tuple[Any, Any]) -> None:
        """Forget the results since `save`: a tensor of a sub-graph has no meaning outside of it."""
        self._results, self._by_size = saved

    def call(
        self, wrapper: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[Any, tuple, dict], Any]
    ) -> Any:
        """The cached result, else `run(function, args, kwargs)`, remembered for the rest of the trace.

        Raises what hashing the arguments or the function raises.
        """
        parts = gc.get_referents(wrapper)
        cache, function, mark = parts[-6], parts[-5], parts[-4]
        is_logged = args and isinstance(args[0], logging.Logger)
        is_logged = is_logged and log_calls.only_logs(function, [*args[1:], *kwargs.values()])
        if is_logged and run(function, args, kwargs) is None:
            return None  # as from the cache: the text is not read
        key = _key(args, kwargs, mark, bool(wrapper.cache_parameters()["typed"]))
        if holds_size(key):
            return self._call_with_sizes(wrapper, function, key, args, kwargs, run)
        found = self._results.get((id(wrapper), key), MISS)
        if found is MISS and key in cache:
            found = _held(wrapper, parts, cache, key)
            self.hits.append((wrapper, key, found))
        if found is MISS:
            found = run(function, args, kwargs)
            self._results[id(wrapper), key] = found
            self._alive.append(wrapper)
        return found

    def _call_with_sizes(
        self, wrapper: Any, function: Any, key: Any, args: tuple, kwargs: dict, run: Callable[[Any, tuple, dict], Any]
    ) -> Any:
        """Call with arguments that are sizes, which stay symbolic.

        Sizes have no hash: the key is compared with those of the trace's earlier calls, one by one, as the cache would
        compare keys of one hash. An entry of the cache itself for other sizes is the function's result.
        """
        for of, other, found in self._by_size:
            if of is wrapper and type(other) is type(key) and other == key:
                return found
        found = run(function, args, kwargs)
        self._by_size.append((wrapper, key, found))
        return found


def _key(args: tuple[Any, ...], kwargs: dict[str, Any], mark: object, typed: bool) -> Any:
    """The wrapper's own key for a call (lru_cache_make_key)."""
    if not kwargs and not typed and len(args) == 1 and type(args[0]) in (int, str):
        return args[0]
    key = args
    if kwargs:
        key += (mark,)
        for item in kwargs.items():
            key += item
    if typed:
        key += tuple(type(v) for v in args) + tuple(type(v) for v in kwargs.values())
    return key


def note_made(tracer: TracerView, fn: Any, args: tuple, kwargs: dict, result: Any) -> Any:
    """The program has cached a function itself."""
    tracer.own(LruCaches).own_wrappers.add(id(result))
    return result


def guard_hits(walk: Any, tracer: TracerView) -> None:
    """Guards on the results that the program took from caches of before the run: they are still there."""
    for wrapper, key, value in tracer.own(LruCaches).hits:
        source = walk.reached.get(id(wrapper)) or walk.constant(wrapper)
        walk.add("contents", source, functools.partial(still_holds, key=key, value=value), None)


def still_holds(wrapper: Any, key: Any, value: Any) -> bool:
    """Whether the cache has this very result under a key."""
    parts = gc.get_referents(wrapper)
    return key in parts[-6] and _held(wrapper, parts, parts[-6], key) is value


def _held(wrapper: Any, parts: list[Any], cache: dict[Any, Any], key: Any) -> Any:
    if wrapper.cache_parameters()["maxsize"] is None:
        return cache[key]
    # A bounded cache visits each link as key, result, link type; the wrapper's own type comes first (a heap type).
    links = parts[1:-6] if parts[0] is LruCacheWrapper else parts[:-6]
    for i in range(0, len(links) - 2, 3):
        if links[i] == key:
            return links[i + 1]
    return MISS


def call_cache_statistics(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """cache_info() and cache_clear() of an older cache, which a trace does not fill."""
    if id(args[0]) in tracer.own(LruCaches).own_wrappers:
        return NOT_HANDLED
    what = f"{fn.__name__}() of the cache of {args[0].__name__}"
    if fn.__name__ == "cache_info" and len(args) == 1 and not kwargs:
        maxsize = args[0].cache_parameters()["maxsize"]
        refuse, is_dropped = (functools.partial(f, tracer) for f in (_refuse_statistics, in_dropped_text))
        return CacheStatistics(maxsize, what, refuse, is_dropped)
    tracer.refuse("outside-object", what=what)


def _refuse_statistics(tracer: TracerView, what: str) -> NoReturn:
    tracer.refuse("outside-object", what=what)


class CacheStatistics(Unrecordable):
    """The result of cache_info(): of the four numbers, one is the same in each call."""

    __slots__ = ("maxsize",)

    def __init__(self, maxsize: Any, *rest: Any) -> None:
        super().__init__(*rest)
        object.__setattr__(self, "maxsize", maxsize)
