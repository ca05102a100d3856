"""A frame of the interpreted program."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from types import CellType, CodeType
from typing import Any, Final

from dynamo_lite.interpreter.code.decode import CodeInfo, Positions
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.interfaces import VM

RUNNING: Final = 0
SUSPENDED: Final = 1
RETURNED: Final = 2

KEPT: Final[Any] = object()
"""The `proxy` of a frame that the program does not hold, although it holds the frame of one of its callees."""


class Handled:
    """The exception that a thread or a generator is handling; a generator falls back on its resumer's (`outer`)."""

    __slots__ = ("outer", "value")

    def __init__(self, value: BaseException | None = None) -> None:
        self.value = value
        self.outer: Handled | None = None


class Frame:
    """The state of one call: the contents of CPython's frame, as plain Python values.

    `locals` is CPython's "fast locals": arguments and local variables, then cells, then free variables (`info.names`
    names them; a cell variable's place holds its types.CellType). `namespace` is the mapping of a class body, a module
    or exec, else None. `pc` is the index of the next instruction; `back` is the caller's frame. `unmerged` has, for
    variables without a value here, the reason, if they have a value in CPython (dynamo_lite/control_flow).
    """

    __slots__ = ("__weakref__", "back", "builtins", "code", "globals", "handled", "info", "locals", "namespace", "pc",
                 "proxy", "reraised", "result", "snapshot", "stack", "state", "taken", "thrown", "unmerged",
                 "vm")  # fmt: skip

    def __init__(
        self, vm: VM, code: CodeType, info: CodeInfo, globals_: dict[str, Any], builtins: Any,
        locals_: list[Any],
    ) -> None:
        self.vm = vm
        self.code = code
        self.info = info
        self.globals = globals_
        self.builtins = builtins
        self.locals = locals_
        self.namespace: MutableMapping[str, Any] | None = None
        self.stack: list[Any] = []
        self.pc = 0
        self.back: Frame | None = None
        self.state = RUNNING
        self.result: Any = None
        self.thrown: BaseException | None = None
        self.taken: Callable[[], Any] | None = None
        self.reraised: BaseException | None = None
        self.proxy: Any = None
        self.snapshot: dict[str, Any] | None = None
        self.handled: Handled | None = None
        self.unmerged: dict[int, str] | None = None

    @property
    def positions(self) -> Positions:
        """The source range of the current instruction (PEP 657)."""
        return self.info.positions_at(self.code, max(self.pc - 1, 0))

    @property
    def lineno(self) -> int:
        return self.positions.lineno or self.code.co_firstlineno

    @property
    def lasti(self) -> int:
        """The byte offset of the current instruction, as f_lasti."""
        return self.info.offsets[max(self.pc - 1, 0)]

    def f_locals(self) -> dict[str, Any]:
        """The variables by name: a fresh snapshot in a function, the namespace itself (if a dict) elsewhere."""
        if self.namespace is not None:
            return self.namespace if isinstance(self.namespace, dict) else dict(self.namespace)
        return self._bound(self.info.names)

    def inlined_locals(self) -> dict[str, Any]:
        """The variables of a comprehension that is inlined (PEP 709) in a class body or module, while it runs."""
        return self._bound(self.code.co_varnames) if self.code.co_varnames else {}

    def _bound(self, names: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        cells = self.cell_names()
        for name, value in zip(names, self.locals):
            if name in cells and type(value) is CellType:
                try:
                    value = value.cell_contents
                except ValueError:
                    continue
            if value is not UNBOUND:
                found[name] = value
        return found

    def cell_names(self) -> frozenset[str]:
        """The variables that live in cells."""
        return frozenset(self.code.co_cellvars + self.code.co_freevars)

    def __repr__(self) -> str:
        return f"<interpreted frame {self.code.co_qualname} at {self.code.co_filename}:{self.lineno}>"
