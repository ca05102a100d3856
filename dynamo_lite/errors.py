"""Every error that dynamo-lite raises on purpose.

    DynamoLiteError
        InternalError          a bug of ours
        InvalidArguments       the call of `export` makes no sense              (ValueError)
            UnknownKeyword     no such option                                   (TypeError)
        ConstraintViolation    dynamic_shapes promises what the program does not keep
        UnsupportedValue       an input or output is not a tree of tensors      (TypeError)
        InputMismatch          a program is called with other inputs            (RuntimeError, AssertionError)
            StructureMismatch  ... in other containers, or another number       (ValueError, TypeError)
        UnsupportedConversion  a program's module cannot have another dtype     (RuntimeError)
        UnsupportedMode        ... or another mode                              (NotImplementedError)
        GraphBreak             this Python cannot be captured as it stands
            DataDependent, UnrecordableValue, UnsupportedEffect, UnsupportedCall, UnsupportedOperator

Each has a stable `id`; a GraphBreak also has the program's stack in Python's own format with carets, what happened and
what to write instead. The text of each ends with the case of ExportDB that shows the error and the rewrite.

Code that catches torch's classes catches these too: torch_errors.py makes each a subclass of its counterpart when an
error leaves `export`. Nothing here imports torch, so that tools can catch these without paying for it.
"""

from __future__ import annotations

import difflib
import functools
import importlib.util
import inspect
import itertools
import os
import re
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

from dynamo_lite.exportdb.lookup import case_for
from dynamo_lite.source_lines import line_at

_F = TypeVar("_F", bound=Callable[..., Any])

_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep


@functools.cache
def _torch_folder() -> str:
    """Where torch is installed, found without importing it."""
    found = importlib.util.find_spec("torch")
    places = found.submodule_search_locations if found is not None else None
    return str(next(iter(places))) + os.sep if places else _STDLIB


_PASSES_ON = re.compile(r"\w\((?:\w+, )*\*args, \*\*kwargs\)$")
"""The end of `output = func(self, *args, **kwargs)`."""


@dataclass(frozen=True)
class UserFrame:
    """One frame of the traced program. Lines are 1-based, columns 0-based UTF-8 byte offsets as in `co_positions`."""

    filename: str
    lineno: int
    name: str
    end_lineno: int | None = None
    colno: int | None = None
    end_colno: int | None = None

    @property
    def is_library(self) -> bool:
        """Whether this is torch's own code or the standard library's."""
        return self.filename.startswith(_torch_folder()) or (
            self.filename.startswith(_STDLIB) and "site-packages" not in self.filename
        )

    @property
    def is_installed(self) -> bool:
        """Whether this is code of an installed library, torch's among them."""
        return "site-packages" in self.filename or "dist-packages" in self.filename

    @property
    def passes_on(self) -> bool:
        """Whether it looks like a library's decorator, which passes its arguments on to the decorated function."""
        return self.is_installed and _PASSES_ON.search(self.source) is not None

    @property
    def source(self) -> str:
        """The source line, stripped; empty when the file cannot be read."""
        return line_at(self.filename, self.lineno).strip()

    @property
    def expression(self) -> str:
        """The source of what runs, where it is on one line; empty when that is not known."""
        if self.colno is None or self.end_colno is None or self.end_lineno != self.lineno:
            return ""
        return line_at(self.filename, self.lineno).encode()[self.colno : self.end_colno].decode(errors="replace")

    def format(self, carets: bool = True) -> str:
        """The frame in the format of `traceback`, with a caret line when the columns are known."""
        text = f'  File "{self.filename}", line {self.lineno}, in {self.name}\n'
        raw = line_at(self.filename, self.lineno)
        if not raw.strip():
            return text
        text += f"    {raw.strip()}\n"
        if carets and self.colno is not None and self.end_colno is not None and self.end_lineno == self.lineno:
            indent = len(raw) - len(raw.lstrip())
            encoded = raw.encode()
            start = len(encoded[: self.colno].decode(errors="replace"))
            stop = len(encoded[: self.end_colno].decode(errors="replace"))
            if indent <= start < stop and (stop - start) < len(raw.strip()):
                text += "    " + " " * (start - indent) + "^" * (stop - start) + "\n"
        return text


class DynamoLiteError(Exception):
    """The base of all errors raised on purpose. `id` is stable and may be searched for."""

    id = "error"
    case: str | None = None  # a case that shows it better than the first one of its id

    def __init__(self, *args: Any) -> None:
        # Not super(): torch_errors.py puts torch's classes among the bases, whose constructors want other arguments.
        Exception.__init__(self, *args)

    @property
    def exportdb(self) -> str | None:
        """The name of the ExportDB case that shows this error and what to write instead; None if it has none."""
        return self.case or case_for(self.id)

    @property
    def msg(self) -> str:
        """The whole text, under the name that torch's errors have for it."""
        return str(self)

    def __str__(self) -> str:
        text = Exception.__str__(self)
        case = self.exportdb
        return text if case is None else f"{text}\n\nexportdb: {case}   (python -m dynamo_lite exportdb show {case})"


class InternalError(DynamoLiteError):
    """An assumption of dynamo-lite's own code does not hold. Please report it with the program that shows it."""

    id = "internal"


class InvalidArguments(DynamoLiteError, ValueError):
    """`export` was called with arguments that it cannot take (the message names them)."""

    id = "invalid-arguments"


class UnknownKeyword(InvalidArguments, TypeError):
    """A function of dynamo-lite was called with an option that it does not have."""


def checks_keywords(fn: _F) -> _F:
    """Decorates a public function: an option that it does not have raises UnknownKeyword, which names the nearest."""
    known = [name for name, p in inspect.signature(fn).parameters.items() if p.kind is not p.VAR_KEYWORD]

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - known:
            near = difflib.get_close_matches(name, known, 1)
            instead = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise UnknownKeyword(f"{fn.__name__}() has no option {name!r}: {instead}")
        return fn(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


class UnsupportedValue(DynamoLiteError, TypeError):
    """A value in the inputs or outputs is neither a tensor, a constant nor a container of these.

    `path` is its place, in terms of the program: `cache.layers[0].keys`.
    """

    id = "unsupported-value"

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.what)


class InputMismatch(DynamoLiteError, RuntimeError, AssertionError):
    """An exported program was called with inputs that it was not exported for: a size, a dtype, a constant.

    torch raises an AssertionError there ("Guard failed: ...").
    """

    id = "input-mismatch"


class StructureMismatch(InputMismatch, ValueError, TypeError):
    """An exported program was called with another number of arguments, other keywords, or other containers.

    torch raises a ValueError there ("Trying to flatten user inputs with exported input tree spec ..."), its unflattened
    modules a TypeError, as eager does.
    """


class UnsupportedConversion(DynamoLiteError, RuntimeError):
    """`program.module().half()`: the graph holds a dtype or a device that the converted model would have otherwise."""

    id = "program-conversion"


class LostGradient(DynamoLiteError, RuntimeError):
    """A gradient is requested from a program that has the forward of an autograd.Function, and not its backward."""

    id = "lost-gradient"


class UnsupportedMode(DynamoLiteError, NotImplementedError):
    """`program.module().train()` of a program that was exported in the other mode."""

    id = "program-mode"


class ConstraintViolation(DynamoLiteError):
    """`dynamic_shapes` promises sizes that the program does not keep. The message lists each of them, and fixes.

    Attributes: `violations` (of symbolic_shapes/dims/violations.py); `fixes`, Python lines that define new specs, empty
    if none were found. The message ends with them, as torch.export's does (refine_dynamic_shapes_from_suggested_fixes).
    """

    id = "constraint-violation"

    def __init__(self, report: str, fixes: Sequence[str] = (), violations: Sequence[Any] = ()) -> None:
        self.fixes = tuple(fixes)
        self.violations = tuple(violations)
        super().__init__(report)

    def __str__(self) -> str:
        text = super().__str__()
        return "\n".join([text, "", "Suggested fixes:", *(f"  {line}" for line in self.fixes)]) if self.fixes else text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.fixes)


class GraphBreak(DynamoLiteError):
    """The program cannot be captured as it stands.

    Attributes: `id`; `frames`, the program's stack, outermost first; `what`, what happened; `instead`, what to
    write instead.
    """

    id = "graph-break"

    def __init__(self, id: str, what: str, instead: str, frames: Sequence[UserFrame] = ()) -> None:
        self.id = id
        self.what = what
        self.instead = instead
        self.frames = tuple(frames)
        super().__init__(self._text())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id, self.what, self.instead, self.frames), dict(self.__dict__)

    def suggest(self, text: str, last: bool = False) -> None:
        """Add another suggestion before those that are there, or after them."""
        self.instead = f"{self.instead.rstrip('.')}; or {text}" if last else f"{text}; or {self.instead}"
        self.args = (self._text(),)

    def add(self, text: str) -> None:
        """Add a line to the description."""
        self.what = f"{self.what}\n{text}"
        self.args = (self._text(),)

    def is_at(self, other: GraphBreak) -> bool:
        """Whether both are about one line."""
        one, two = self.frame, other.frame
        return one is not None and two is not None and (one.filename, one.lineno) == (two.filename, two.lineno)

    @property
    def headline(self) -> str:
        """The id, what happened, and the line, in one line."""
        at = "" if self.frame is None else f" ({self.frame.filename}:{self.frame.lineno})"
        return f"[{self.id}] {self.what.partition(chr(10))[0]}{at}"

    @property
    def frame(self) -> UserFrame | None:
        """The line to look at: the innermost frame that is not torch's or the standard library's, if there is one."""
        own = [frame for frame in self.frames if not frame.is_library]
        return next(reversed(own or self.frames), None)

    def _text(self) -> str:
        parts = [f"[{self.id}] {self.what}"]
        if self.frames:
            shown = _folded(self.frames)
            if len(shown) > 12:
                shown = [*shown[:4], f"  ... {len(shown) - 8} frames ...\n", *shown[-4:]]
            parts.append("The program was here (most recent call last):\n" + "".join(shown).rstrip("\n"))
        parts.append(f"What to write instead: {self.instead}")
        return "\n\n".join(parts)


def _folded(frames: Sequence[UserFrame]) -> list[str]:
    """The frames as text, with one line for those of libraries that only pass a call on."""
    shown: list[str] = []
    for passes_on, group in itertools.groupby(frames, key=lambda frame: frame.passes_on and frame is not frames[-1]):
        rows = [*group]
        count = "1 frame that passes" if len(rows) == 1 else f"{len(rows)} frames that pass"
        shown += [f"  ... {count} the call on ...\n"] if passes_on else [frame.format() for frame in rows]
    return shown


class DataDependent(GraphBreak):
    """Python needed a value that only the data of a tensor holds.

    Attributes: `native_code`, the code of library functions that were running natively then. If they are interpreted,
    they may have an answer: a branch that only raises becomes an assertion.
    """

    native_code: frozenset[CodeType] = frozenset()


class UnrecordableValue(GraphBreak):
    """An answer depends on something that cannot be written down: an address, the clock, Python's random numbers."""


class UnsupportedEffect(GraphBreak):
    """The program changes something outside of itself that the exported program cannot carry."""


class UnsupportedCall(GraphBreak):
    """A function was called that cannot be captured."""


class UnsupportedOperator(GraphBreak):
    """An ATen operator has no meta kernel, or its output's shape depends on data."""
