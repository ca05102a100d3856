"""Settings of the process that a program may change without a call that can be watched; changes are undone.

Modules that are imported in the course of a run change settings too (the environment, the filters of warnings), and
mean it: a setting counts as the program's if code of the program mentions a name by which it is set.
"""

from __future__ import annotations

import gc
import locale
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Set
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """One setting: its name for people, how to read it (as something to compare), how to write it.

    `words` are the names by which code sets it; with none, only the program does.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]
    words: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _set_environment(before: dict[str, str]) -> None:
    for name in [name for name in os.environ if name not in before]:
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _set_filters(before: list[Any]) -> None:
    warnings.filters[:] = before  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return None


def _set_directory(before: str | None) -> None:
    if before is not None:
        os.chdir(before)


def _set_path(before: list[str]) -> None:
    sys.path[:] = before


_ALWAYS: tuple[Setting, ...] = (
    Setting("the environment", lambda: dict(os.environ), _set_environment, _words("environ putenv unsetenv")),
    Setting("the working directory", _directory, _set_directory, _words("chdir fchdir")),
    Setting("sys.path", lambda: list(sys.path), _set_path, _words("path")),
    Setting(
        "the filters of warnings",
        lambda: list(warnings.filters),
        _set_filters,
        _words("filterwarnings simplefilter resetwarnings filters"),
    ),
    Setting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit, _words("setrecursionlimit")),
    Setting(
        "garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable(), _words("enable disable")
    ),
    Setting(
        "sys.stdout",
        lambda: sys.stdout,
        lambda stream: setattr(sys, "stdout", stream),
        _words("stdout redirect_stdout"),
    ),
    Setting(
        "sys.stderr",
        lambda: sys.stderr,
        lambda stream: setattr(sys, "stderr", stream),
        _words("stderr redirect_stderr"),
    ),
    Setting(
        "the locale",
        lambda: locale.setlocale(locale.LC_ALL),
        lambda v: locale.setlocale(locale.LC_ALL, v),
        _words("setlocale"),
    ),
)
_DECIMAL = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _decimal() -> Setting:
    """The context of decimal numbers, except the flags that each operation sets."""
    context = sys.modules["decimal"].getcontext()

    def write(before: tuple[Any, ...]) -> None:
        for name, value in zip(_DECIMAL, before[0]):
            setattr(context, name, value)
        context.traps.update(before[1])

    return Setting(
        "the context of decimal numbers",
        lambda: ([getattr(context, name) for name in _DECIMAL], dict(context.traps)),
        write,
    )


def _numpy() -> Setting:
    """numpy's own generator of random numbers: its functions are seen by no profiler."""
    generator = sys.modules["numpy.random"]

    def read() -> Any:
        state = generator.get_state()
        return (state[0], state[1].tobytes(), *state[2:])

    def write(before: Any) -> None:
        import numpy

        generator.set_state((before[0], numpy.frombuffer(before[1], dtype=numpy.uint32), *before[2:]))

    return Setting("numpy's random numbers", read, write)


def _settings() -> Iterator[Setting]:
    yield from _ALWAYS
    if "decimal" in sys.modules:
        yield _decimal()
    if "numpy.random" in sys.modules:
        yield _numpy()


class ProcessState:
    """The settings as they were when this was made."""

    def __init__(self) -> None:
        self._before = [(setting, setting.read()) for setting in _settings()]

    def restore(self, mentioned: Set[str] | None) -> list[str]:
        """Put the settings back that the program has changed. Returns their names.

        mentioned: the names in the code of the program that has run; None if that is not known.
        """
        changed = [
            (setting, before)
            for setting, before in self._before
            if setting.read() != before
            and (not setting.words or mentioned is None or not setting.words.isdisjoint(mentioned))
        ]
        for setting, before in changed:
            setting.write(before)
        return [setting.name for setting, _ in changed]
