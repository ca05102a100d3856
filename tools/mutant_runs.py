"""Runs the tests of one module against each of its mutants, fast: the tests are collected once.

One process per module collects the tests with pytest, and notes which functions each test calls. For each mutant it
forks; the child puts the mutant's code into the live functions, runs the tests that call them, those that killed lately
first, and ends at the first that fails. What is not in a
function (a table, a constant) is mutated by importing the module again, in a process of its own.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from mutations import Mutant

MEMORY = 3 << 30
"""Bytes that a child may allocate: a mutant that does not end must not exhaust the machine's memory."""
SURVIVED, FAILED = 1 << 16, (1 << 16) + 1


def preload() -> None:
    """Import what the children need and no mutant changes, once."""
    os.environ |= {"CI": "1", "OMP_NUM_THREADS": "1"}
    for name in ("pytest", "hypothesis", "hypothesis.strategies", "sympy", "z3"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another code."""

    def __init__(self, module: str, code: CodeType) -> None:
        self.module, self.code = module, code

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


class Runs:
    """The mutants of one module against its tests."""

    def __init__(self, module: str, tree: ast.Module, path: str, tests: Sequence[str], timeout: float) -> None:
        self.module, self.tree, self.path, self.timeout = module, tree, path, timeout
        self.arguments = ["-q", "--no-header", "--tb=no", "--no-summary", "-p", "no:cacheprovider", *tests]

    def fates(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, str]]:
        """Each mutant with "killed", "survived" or "timeout"."""
        collected = self._collected([m for m in mutants if m.outermost])
        for mutant in mutants:
            yield mutant, next(collected) if mutant.outermost else self._imported(mutant)

    def _imported(self, mutant: Mutant) -> str:
        """The fate of a mutant that is imported in place of the module."""
        code = mutant.code(self.tree, self.path)

        def child(tell: Callable[[int], None]) -> None:
            import pytest

            sys.meta_path.insert(0, Finder(self.module, code))
            tell(SURVIVED if pytest.main(["-x", *self.arguments]) == 0 else FAILED)

        said = in_child(child, self.timeout)
        return "timeout" if said is None else "survived" if SURVIVED in said else "killed"

    def _collected(self, mutants: Sequence[Mutant]) -> Iterator[str]:
        """The fates of mutants of functions, in order: from a process that collects the tests once."""
        codes = [m.code(self.tree, self.path) for m in mutants]
        ends = {0: "survived", 1: "killed", 2: "timeout"}

        def child(tell: Callable[[int], None]) -> None:
            import pytest

            pytest.main(self.arguments, plugins=[Loop(self.module, list(zip(mutants, codes)), self.timeout, tell)])

        said = in_child(child, 36_000.0, raw=True)
        for number in said or ():
            if number == FAILED:
                raise SystemExit(f"the tests of {self.module} fail without a mutation")
            yield ends[number]


class Loop:
    """A pytest plugin that runs what was collected once per mutant, each time in a fork."""

    def __init__(self, module: str, work: list[tuple[Mutant, CodeType]], timeout: float,
                 tell: Callable[[int], None]) -> None:
        self.module, self.work, self.timeout, self.tell = module, work, timeout, tell
        self.live: dict[str, list[FunctionType]] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        items = list(session.items)
        for function in gc.get_objects():
            if isinstance(function, FunctionType) and function.__module__ == self.module:
                self.live.setdefault(function.__code__.co_qualname, []).append(function)
        gc.freeze()  # so that the children touch fewer pages
        reached = self._reached(session, items)
        if reached is None:
            self.tell(FAILED)
            return True
        latest: list[Any] = []
        for mutant, code in self.work:
            relevant = [i for i in items if mutant.outermost in reached[i.nodeid]]
            relevant.sort(key=lambda i: -latest.index(i) if i in latest else 1)
            fate, killer = self._fate(session, relevant, mutant, code)
            if killer is not None:
                latest = [i for i in latest if i is not relevant[killer]] + [relevant[killer]]
            self.tell(fate)
        return True

    def _reached(self, session: Any, items: list[Any]) -> dict[str, list[str]] | None:
        """The functions of the module that each test calls: no other can see a mutant of them. None if a test fails."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reached"

            def child(tell: Callable[[int], None]) -> None:
                reached: dict[str, list[str]] = {}
                for item, following in zip(items, [*items[1:], None]):
                    called: set[str] = set()

                    def profile(frame: FrameType, event: str, _: Any, called: set[str] = called) -> None:
                        if event == "call" and frame.f_globals.get("__name__") == self.module:
                            called.add(frame.f_code.co_qualname)

                    sys.setprofile(profile)
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    sys.setprofile(None)
                    reached[item.nodeid] = sorted(called)
                if not session.testsfailed:
                    path.write_text(json.dumps(reached), encoding="utf-8")

            in_child(child, 10 * self.timeout)
            found: dict[str, list[str]] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
            return found

    def _fate(self, session: Any, items: list[Any], mutant: Mutant, code: CodeType) -> tuple[int, int | None]:
        def child(tell: Callable[[int], None]) -> None:
            self._put(mutant, code)
            for index, (item, following) in enumerate(zip(items, [*items[1:], None])):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    tell(index)
                    return
            tell(SURVIVED)

        said = in_child(child, self.timeout)
        if said is None:
            return 2, None
        return (0, None) if SURVIVED in said else (1, said[0] if said else None)

    def _put(self, mutant: Mutant, code: CodeType) -> None:
        """Give the live functions of that name the mutant's code."""
        new = next(c for c in _codes(code) if c.co_qualname == mutant.outermost)
        for function in self.live[mutant.outermost]:
            function.__code__ = new


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def in_child(work: Callable[[Callable[[int], None]], None], timeout: float, *, raw: bool = False) -> Any:
    """The numbers that `work` tells in a forked child; None if it takes longer. With raw, an iterator as they come."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            if not raw:
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            if not raw:
                os.dup2(quiet, 2)
            work(lambda number: void(os.write(writing, f"{number}\n".encode())))
        finally:
            os._exit(0)
    os.close(writing)
    numbers = _numbers(child, reading, timeout)
    if raw:
        return numbers
    said = list(numbers)
    return None if None in said else said


def void(value: object) -> None:
    """Nothing, of anything."""


def _numbers(child: int, reading: int, timeout: float) -> Iterator[int | None]:
    """Each number as it comes; None at the end if the time is over."""
    end, buffer = time.monotonic() + timeout, b""
    try:
        while True:
            if not select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
                yield None
                return
            chunk = os.read(reading, 4096)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            yield from map(int, lines)
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
