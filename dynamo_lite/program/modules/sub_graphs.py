"""The sub-graphs of a module that was made of a program: they are the program's own until they are copied."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from torch import fx


def copy_children(module: fx.GraphModule, names: Iterable[str]) -> None:
    """Gives `module` copies of the children in which the sub-graphs with these names (`a.b.c`) are."""
    for child in dict.fromkeys(name.partition(".")[0] for name in names):
        setattr(module, child, copy.deepcopy(getattr(module, child)))
