"""A program of the laboratory: its id, its class, what it tests, and a function that builds it afresh.

A file of `corpus/` is a class of programs; each function in it that `program` decorates builds one:

    @program("a counter on the module that forward reads")
    def counter() -> Example:
        return Example(Counter(), (t(3),))

Its id is "state.counter". Another kind of corpus is the random modules (generated.py): "generated.17" is that of seed
17. Programs are loaded as modules `lab_programs.*`, not as parts of this package: to a tracer they are a user's.
"""

from __future__ import annotations

import inspect
import linecache
import random
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

import torch
from torch import nn

Args = tuple[tuple[Any, ...], dict[str, Any]]

NAMESPACE = "lab_programs"
GENERATED = "generated"
_FOLDER = "corpus"


@dataclass
class Example:
    """A fresh program, its example arguments, and the calls that follow.

    The exported program is called with the example, with other data of the same shapes, and with `also`, one after the
    other, and so is eager. A call of `also` is one that the program may reject; an answer to it has to be eager's.
    `dynamic_shapes` is in torch.export's language. `gradients` compares what a backward() from the outputs leaves in
    `.grad`. `after` changes the module, eager's and the exported one alike, before the first call. `under` gives the
    context of each call (the export is outside of it).
    """

    program: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    also: list[Args] = field(default_factory=list)
    dynamic_shapes: Any = None
    gradients: bool = False
    after: Callable[[Any], Any] | None = None
    under: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(frozen=True)
class LabProgram:
    """A program by id. `example` builds it, always the same."""

    id: str
    kind: str
    tests: str
    build: Callable[[], Any]
    source: str

    def example(self) -> Example:
        """A fresh example; torch's and Python's generators are seeded first."""
        torch.default_generator.manual_seed(0)
        random.seed(0)
        built = self.build()
        return built if isinstance(built, Example) else Example(*built)

    def globals(self) -> dict[str, Any]:
        """The data among the globals of its file: what it may change without holding it."""
        names = self.build.__globals__
        kept = (LabProgram, ModuleType)
        return {k: v for k, v in names.items() if not k.startswith("__") and not isinstance(v, kept)}


def program(tests: str) -> Callable[[Callable[[], Any]], LabProgram]:
    """Make a program of a function that builds an `Example`, or (module, args) or (module, args, kwargs).

    `tests`: what it tests, in a few words.
    """

    def decorate(build: Callable[[], Any]) -> LabProgram:
        kind = build.__module__.rpartition(".")[2]
        text = inspect.getsource(build).partition("\n")[2]
        return LabProgram(f"{kind}.{build.__name__}", kind, tests, build, text)

    return decorate


def classes() -> list[str]:
    """The classes of the hand-written programs, by name."""
    names = [entry.name for entry in files(__package__).joinpath(_FOLDER).iterdir()]
    return sorted(name.removesuffix(".py") for name in names if name.endswith(".py") and not name.startswith("_"))


@cache
def of_class(name: str) -> tuple[LabProgram, ...]:
    """The programs of a class, in the order in which they stand there. KeyError for a class that is not there."""
    if name not in classes():
        raise KeyError(f"no class {name!r}; there are {', '.join([*classes(), GENERATED])}")
    text = files(__package__).joinpath(_FOLDER, f"{name}.py").read_text(encoding="utf-8")
    module = _module(name, text)
    return tuple(value for value in vars(module).values() if isinstance(value, LabProgram))


@cache
def generated(seed: int) -> LabProgram:
    """The random module of a seed."""
    from dynamo_lite.lab.generated import body, source

    return replace(of_source(f"{GENERATED}.{seed}", source(seed), "random statements"), source=body(seed))


def of_source(id: str, text: str, tests: str) -> LabProgram:
    """A program of a source text with a function `build()`."""
    module = _module(id.replace(".", "_"), text)
    return LabProgram(id, id.partition(".")[0], tests, module.build, text)


def find(id: str) -> LabProgram:
    """The program with an id. KeyError if there is none."""
    kind, _, name = id.partition(".")
    if kind == GENERATED and name.isdecimal():
        return generated(int(name))
    found = {each.id: each for each in of_class(kind)}
    if id not in found:
        raise KeyError(f"no program {id!r} in the class {kind!r}")
    return found[id]


def known_holes() -> dict[str, dict[str, str]]:
    """Known wrong results of dynamo-lite: id → the fields that known_holes.toml describes."""
    return tomllib.loads(files(__package__).joinpath("known_holes.toml").read_text(encoding="utf-8"))


def chosen(names: list[str], seed: int = 0, random_modules: int = 0) -> Iterator[str]:
    """The ids of the programs of some classes (all hand-written ones by default), then of `random_modules` seeds from
    `seed` on. KeyError for a class that is not there."""
    for name in names or classes():
        if name != GENERATED:
            yield from (each.id for each in of_class(name))
    yield from (f"{GENERATED}.{n}" for n in range(seed, seed + random_modules))


def _module(name: str, text: str) -> ModuleType:
    """A module `lab_programs.<name>` of a source text, whose lines stack traces and `inspect` find."""
    full, filename = f"{NAMESPACE}.{name}", f"<{NAMESPACE}/{name}.py>"
    sys.modules.setdefault(NAMESPACE, ModuleType(NAMESPACE))
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = sys.modules[full] = ModuleType(full)
    module.__file__ = filename
    exec(compile(text, filename, "exec", dont_inherit=True), vars(module))
    return module


class AsModule(nn.Module):
    """A function as a module: some exporters take modules only. Its `forward` is the function, with its signature."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = fn


def t(*shape: int, **options: Any) -> torch.Tensor:
    """A float tensor of random values."""
    return torch.randn(*shape, **options)
