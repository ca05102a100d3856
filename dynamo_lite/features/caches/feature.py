"""The record of `caches`."""

from __future__ import annotations

from contextvars import ContextVar

from dynamo_lite.features.caches import context_values, lru_cache
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper

_RULES = {
    id(ContextVar.__dict__["set"]): context_values.call_context_var,
    **{id(LruCacheWrapper.__dict__[name]): lru_cache.call_cache_statistics for name in ("cache_info", "cache_clear")},
}

FEATURE = Feature(
    name="caches",
    needs=("output",),
    state=(lru_cache.LruCaches, context_values.ContextValues),
    rules=lambda: _RULES,
    c_steps=(lru_cache.plan,),
    after=lambda: {id(LruCacheWrapper): lru_cache.note_made},
    before_end=(context_values.check_restored,),
    guards=lru_cache.guard_hits,
    graph_breaks=("global-state", "outside-object"),
)
