"""Programs with Python control flow on data, as people write it, by topic."""

from tests.control_flow.programs import (  # noqa: F401  (fill the table)
    aliases,
    branches,
    callers,
    choices,
    counted,
    counting,
    effects,
    extremes,
    frames,
    functions_of_autograd,
    growing,
    held_lists,
    identities,
    iterators,
    kept_by_loops,
    kinds_in_c,
    lists,
    loops,
    models,
    objects,
    rebound,
    replaced,
    same_memory,
    sizes,
    sorting,
    told_apart,
    views,
    waiting_generators,
)
from tests.control_flow.programs.table import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program"]
