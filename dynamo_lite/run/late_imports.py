"""Imports of torch's modules during a run that began without TorchDynamo.

A module that is imported during a run sees torch as the run has prepared it, and may keep references to it: TorchDynamo
copies the attributes of torch.Tensor, one of which is ours then. So the run ends at the import, is undone, and is made
again after TorchDynamo has been imported (run.py).
"""

from __future__ import annotations

import dis
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec
from types import FrameType
from typing import TYPE_CHECKING, Any

from dynamo_lite.errors import InternalError
from dynamo_lite.symbolic_shapes.torch_node import _torch_dynamo_config as torch_dynamo
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.undoing import changed

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer


class TorchImported(InternalError):
    """A run that began without TorchDynamo imports it, or another module of torch that is not loaded."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the run imports {name}")
        self.module = name

    def load(self) -> None:
        """Import the modules that the next run needs."""
        if self.module == torch_dynamo.DTENSOR:
            torch_dynamo.load_dtensor()
        else:
            torch_dynamo.load()


class _Finder:
    """A finder of `sys.meta_path` that ends the run of the thread that imports a module of torch.

    It finds nothing, except for a function of torch's that is only to be kept away from TorchDynamo: `CalledDirectly`.

    An import by C++ takes place (an exception there may end the process), of a torch without our functions. The run
    then continues without effect: as when the program suppresses the exception, `broken` counts.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._lets_pass = False
        self._called_directly = torch_dynamo.CalledDirectly()
        self.tracer: Tracer | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        tracer = self.tracer
        if tracer is None or not name.startswith("torch.") or threading.get_ident() != self._thread:
            return None
        if name == torch_dynamo.PACKAGE and _keeps_away(sys._getframe(1)):
            return self._called_directly.spec()
        if tracer.broken is None:
            tracer.broken = TorchImported(name)
        frame = sys._getframe(1)
        if not (self._lets_pass and _is_within_another(frame)) and _asked_by_python(frame):
            tracer.abort(tracer.broken)
        self._lets_pass = True  # what it imports itself as well
        tracer.features.tell("late import", tracer)
        return None

    @contextmanager
    def ending(self, tracer: Tracer) -> Iterator[None]:
        """Within, an import of one of torch's modules ends the run."""
        outer = self.tracer, self._lets_pass

        def undo() -> None:
            self.tracer, self._lets_pass = outer
            self._called_directly.forget()

        with changed(undo):
            self.tracer, self._lets_pass = tracer, False
            yield


def _keeps_away(frame: FrameType | None) -> bool:
    """Whether torch imports TorchDynamo to keep it away from a function, which is called for the first time."""
    while frame is not None and frame.f_globals.get("__name__") in _MACHINERY:
        frame = frame.f_back
    return frame is not None and frame.f_code is torch_dynamo.KEEPS_AWAY


def _is_within_another(frame: FrameType | None) -> bool:
    """Whether an import that `frame` is part of is made by a module that the run is importing."""
    while frame is not None and frame.f_globals.get("__name__") in _MACHINERY:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__") != _RUN:
        if frame.f_globals.get("__name__") in _MACHINERY:
            return True
        frame = frame.f_back
    return False


def _asked_by_python(frame: FrameType | None) -> bool:
    """Whether an import that `frame` is part of is made by Python code: by a statement, by `import_module` or by a call
    of the program's that the interpreter makes."""
    while frame is not None and frame.f_globals.get("__name__") in _MACHINERY:
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code
    return code in _CALLS or dis.opname[code.co_code[frame.f_lasti]] in ("IMPORT_NAME", "IMPORT_FROM")


_RUN = "dynamo_lite.run.run"
"""Imports around the run are the caller's."""
_MACHINERY = frozenset({"importlib._bootstrap", "importlib._bootstrap_external"})
_CALLS = frozenset({importlib.import_module.__code__, run_native.__code__})


_at_work: dict[int, _Finder] = {}
"""By thread. The finder is there before the run begins, whose journal puts `sys.meta_path` back as it found it."""


@contextmanager
def seen() -> Iterator[None]:
    """Within, runs of this thread may begin without TorchDynamo."""
    thread = threading.get_ident()
    if thread in _at_work:
        yield
        return
    finder = _Finder()

    def undo() -> None:
        _at_work.pop(thread, None)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    with changed(undo):
        _at_work[thread] = finder
        sys.meta_path.insert(0, finder)
        yield


def are_seen() -> bool:
    """Whether a run of this thread may begin without TorchDynamo."""
    return threading.get_ident() in _at_work


def ending(tracer: Tracer) -> AbstractContextManager[None]:
    """Within, an import of one of torch's modules ends the run."""
    return _at_work[threading.get_ident()].ending(tracer)
