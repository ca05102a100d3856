"""The oracle of the core's tests: a snippet run by CPython and by the interpreter must do the same.

Compared: the value of `result` (or the exception: type, message, notes, cause and context chains, the lines of the
traceback) and what was printed.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import textwrap
import traceback
import types
from collections.abc import Callable
from typing import Any

from dynamo_lite.interpreter import interpret


def describe_exception(exc: BaseException) -> list[str]:
    """The printed traceback, from the first frame of the snippet on."""
    lines = traceback.format_exception(exc)
    return [line for line in lines if "differential.py" not in line and "interpreter/__init__.py" not in line]


def outcome(run: Callable[[], Any]) -> tuple[str, Any, str]:
    """("value", repr of the result, output) or ("raised", the traceback, output)."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            value = run()
        except BaseException as exc:
            return "raised", describe_exception(exc), output.getvalue()
    return "value", repr(value), output.getvalue()


def compiled(source: str) -> types.FunctionType:
    """The function `case` that the source defines, in a module of its own."""
    source = textwrap.dedent(source)
    module = types.ModuleType("snippet")
    filename = f"<snippet {hash(source):x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    case = module.__dict__["case"]
    assert isinstance(case, types.FunctionType)
    return case


def check(source: str) -> tuple[str, Any, str]:
    """Run `case()` of the source both ways, each in a fresh module; returns CPython's outcome."""
    expected = outcome(compiled(source))
    case = compiled(source)
    actual = outcome(lambda: interpret(case))
    assert actual == expected, f"interpreted:\n{actual}\nCPython:\n{expected}"
    return expected


def value_of(source: str) -> str:
    """As `check`, for a source that must not raise."""
    kind, value, _ = check(source)
    assert kind == "value", value
    return value


def raised_by(source: str) -> str:
    """As `check`, for a source that must raise: the last line of the traceback."""
    kind, lines, _ = check(source)
    assert kind == "raised", lines
    return lines[-1].strip()
