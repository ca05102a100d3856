"""functools.lru_cache and context variables: existing entries are read, none are added.

`lru_cache.py` answers calls of cached functions: from the cache (with a guard that it still holds the result), or by
running the function and storing the result in a table of the trace. `context_values.py` undoes ContextVar.set. A
cache's statistics and a variable that stays changed cannot be part of a program; `feature.py` names the graph breaks.
"""
