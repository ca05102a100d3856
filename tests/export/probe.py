"""A probe: a small program together with the answer that export owes it.

A probe is a function that builds a fresh program and its example arguments; a decorator says what is right:

=====================  =========================================================================================
`@equal`               the program equals eager: see dynamo_lite/lab/observe.py for what is compared
`@refused(id, ...)`    export raises a GraphBreak with one of these ids (the keys of tracing/vocabulary/graph_breaks.py)
`@sound(id, ...)`      either of the two is honest: equal, or refused with one of these ids (any id when none is named)
`@raises`              eager raises on the example, and export raises the same exception
=====================  =========================================================================================

A builder returns `(program, args)`, `(program, args, kwargs)` or a `Case`. It is called again for each run, so it also
sets the module-level globals that its program changes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import torch

Args = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass
class Case:
    """A program and its example arguments.

    `also` holds further arguments, which the program must get right or reject. `returned` says that the containers that
    the program changes come back as outputs, so that the caller's own may stay as they were. `dynamic_shapes` is in
    torch.export's language; with it, `also` may hold arguments of other sizes. `kept` names parameters and buffers that
    another module has from eager's first call on, which the program's state does not follow. `gradients` compares what
    a backward() from the outputs leaves in the `.grad` of arguments, parameters and buffers. `raised_as`: (eager's
    class, the program's) of an error that a handler of the program raises as another class, which the trace notes.
    """

    program: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    also: list[Args] = field(default_factory=list)
    returned: bool = False
    dynamic_shapes: Any = None
    kept: tuple[str, ...] = ()
    gradients: bool = False
    raised_as: tuple[type[Exception], type[Exception]] | None = None


@dataclass(frozen=True)
class Probe:
    """`build` makes a fresh case; `allowed` holds the answers that are right ("equal", "raises", refusal ids)."""

    name: str
    build: Callable[[], Any]
    allowed: frozenset[str]
    any_refusal: bool = False

    def case(self) -> Case:
        """A fresh case, always the same: torch's and Python's generators are seeded first."""
        torch.default_generator.manual_seed(0)
        random.seed(0)
        built = self.build()
        return built if isinstance(built, Case) else Case(*built)

    def globals(self) -> dict[str, Any]:
        """The data among the globals of the probe's file: what its programs may change without holding it."""
        names = self.build.__globals__
        return {k: v for k, v in names.items() if not k.startswith("__") and not isinstance(v, (Probe, type(sys)))}


def equal(build: Callable[[], Any]) -> Probe:
    return _probe(build, {"equal"})


def raises(build: Callable[[], Any]) -> Probe:
    return _probe(build, {"raises"})


def refused(*ids: str) -> Callable[[Callable[[], Any]], Probe]:
    return lambda build: _probe(build, set(ids))


def sound(*ids: str) -> Callable[[Callable[[], Any]], Probe]:
    return lambda build: _probe(build, {"equal", *ids}, any_refusal=not ids)


def _probe(build: Callable[[], Any], allowed: set[str], any_refusal: bool = False) -> Probe:
    name = f"{build.__module__.rpartition('.')[2]}.{build.__name__}"
    return Probe(name, build, frozenset(allowed), any_refusal)


def all_probes(package: str = f"{__package__}.probes") -> Iterator[Probe]:
    """Every probe of every file in a package (`probes/` unless told otherwise), in the order of the files."""
    for probes in probes_by_file(package).values():
        yield from probes


def probes_by_file(package: str) -> dict[ModuleType, list[Probe]]:
    """File of a package → its probes, in the order in which they stand there."""
    files = [import_module(f"{package}.{info.name}") for info in iter_modules(import_module(package).__path__)]
    return {file: [value for value in vars(file).values() if isinstance(value, Probe)] for file in files}


def auto(program: Any, *args: Any, also: tuple[Any, ...] = (), **options: Any) -> Case:
    """A case whose first argument may have another first size (Dim.AUTO); `also` holds further first arguments."""
    return _varying(torch.export.Dim.AUTO, program, args, also, options)


def promised(program: Any, *args: Any, also: tuple[Any, ...] = (), **options: Any) -> Case:
    """The same, where the first size is promised to vary from 2 to 64."""
    return _varying(torch.export.Dim("n", min=2, max=64), program, args, also, options)


def _varying(dim: Any, program: Any, args: Any, also: Any, options: Any) -> Case:
    shapes = ({0: dim}, *(None for _ in args[1:]))
    return Case(program, args, dynamic_shapes=shapes, also=[((first, *args[1:]), {}) for first in also], **options)


def with_gradients(program: Any, *args: Any, **options: Any) -> Case:
    """A case whose gradients are compared as well."""
    return Case(program, args, gradients=True, **options)


def t(*shape: int, **options: Any) -> torch.Tensor:
    """A float tensor of random values."""
    return torch.randn(*shape, **options)


def ints(*shape: int, high: int = 10) -> torch.Tensor:
    """An int64 tensor of values in [0, high)."""
    return torch.randint(0, high, shape)
