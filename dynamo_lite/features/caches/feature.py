"""The record of `caches`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from dynamo_lite.features.caches import context_values, lru_cache
from dynamo_lite.features.caches.context_values import ContextValues
from dynamo_lite.features.caches.lru_cache import LruCaches
from dynamo_lite.tracing.feature import Feature, Fork
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper

_RULES = {
    id(ContextVar.__dict__["set"]): context_values.call_context_var,
    **{id(LruCacheWrapper.__dict__[name]): lru_cache.call_cache_statistics for name in ("cache_info", "cache_clear")},
}


def _save(tracer: TracerView) -> tuple[Any, Any]:
    return tracer.own(LruCaches).save(), tracer.own(ContextValues).save()


def _restore(tracer: TracerView, saved: tuple[Any, Any]) -> None:
    tracer.own(LruCaches).restore(saved[0])
    tracer.own(ContextValues).restore(saved[1])


FEATURE = Feature(
    name="caches",
    state=(LruCaches, ContextValues),
    rules=lambda: _RULES,
    c_steps=(lru_cache.plan,),
    after=lambda: {id(LruCacheWrapper): lru_cache.note_made},
    before_end=(context_values.check_restored,),
    fork=Fork(_save, _restore, context_values.changed),
    guards=lru_cache.guard_hits,
    refusals=("global-state", "outside-object"),
)
