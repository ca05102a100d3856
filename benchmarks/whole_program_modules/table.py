"""The table of whole programs: what is exported, what it is called with, and what takes its place elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from benchmarks.control_flow_programs.table import Call, Module


@dataclass(frozen=True)
class WholeProgram(Module):
    """rewrite: what takes the place of this program where an exporter does not capture it."""

    rewrite: str


PROGRAMS: dict[str, WholeProgram] = {}


def whole(
    *calls: Call, rewrite: str, shapes: Any = None, grad: bool = False
) -> Callable[[type[nn.Module]], type[nn.Module]]:
    """Enter the class. The first call is the example of the export; the others take other ways."""

    def enter(make: type[nn.Module]) -> type[nn.Module]:
        assert len(calls) >= 3, make
        what = " ".join((make.__doc__ or "").split())
        PROGRAMS[make.__name__] = WholeProgram(make, calls, shapes, not grad, what, rewrite)
        return make

    return enter
