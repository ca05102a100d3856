"""Programs with Python control flow on data, as people write it, by topic."""

from tests.control_flow.programs import branches, effects, frames, iterators, loops, models, objects, sizes  # noqa: F401  (fill the table)
from tests.control_flow.programs.table import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program"]
