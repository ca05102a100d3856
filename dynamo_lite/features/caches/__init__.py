"""functools.lru_cache and context variables: read from outside, never filled from within.

`lru_cache.py` answers calls of cached functions: from the cache (a guard says that it still holds the result), or by
running the function and keeping the result in a table of the trace. `context_values.py` undoes ContextVar.set.
A cache's statistics and a variable that stays changed can be no part of a program; `feature.py` names the refusals.
"""
