"""FakeTensorMode without TorchDynamo: of it, torch's mode reads three settings, and importing the package takes 0.7 s.

The settings are a file of their own, torch/_dynamo/config.py, which imports nothing of the package. It is loaded under
its own name, so that the package finds it there when it is imported, and a changed setting holds for everyone. While
torch's mode is active, an attribute of `torch` shows the settings where the mode looks for them (`settings_alone`).
The program of a trace never sees it: what else it does with `torch._dynamo` imports the package, and the run is made
again with it (run/run.py). `dispatch_alone` and `CalledDirectly` keep torch from importing the package at the first
call of a function that is kept away from it; `environment_alone` and `sources_alone`, where sizes vary.
Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import _config as symbolic_shapes_config

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.symbolic_shapes.torch_versions.first_imports import without_collector
from dynamo_lite.undoing import changed

PACKAGE = "torch._dynamo"
DTENSOR = "torch.distributed.tensor"
_ATTRIBUTE = PACKAGE.partition(".")[2]
_CONFIG = f"{PACKAGE}.config"


class _Settings(ModuleType):
    """Replaces `torch._dynamo` while the package is not imported. Any attribute that is not given imports it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(PACKAGE)
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(PACKAGE), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(PACKAGE), name, value)


def is_loaded() -> bool:
    """Whether TorchDynamo has been imported."""
    return PACKAGE in sys.modules


def load() -> None:
    """Import TorchDynamo."""
    importlib.import_module(PACKAGE)


def load_dtensor() -> None:
    """Import what C++ imports where an operator meets a subclass of Tensor and no mode takes it: it looks whether that
    is a DTensor."""
    with without_collector():
        importlib.import_module(DTENSOR)


@contextmanager
def settings_alone() -> Iterator[None]:
    """Within, `torch._dynamo.config` is there without TorchDynamo."""
    config = None if is_loaded() or _ATTRIBUTE in vars(torch) else _config()
    if config is None:  # loaded, shown by a block around this one, or not to be had alone
        yield
        return
    with _shown(config=config):
        yield


@contextmanager
def _shown(**given: Any) -> Iterator[None]:
    shown = _Settings(**given)

    def undo() -> None:
        if vars(torch).get(_ATTRIBUTE) is shown:  # else the package has been imported since
            delattr(torch, _ATTRIBUTE)

    with changed(undo):
        setattr(torch, _ATTRIBUTE, shown)
        yield


@contextmanager
def environment_alone() -> Iterator[None]:
    """Within, torch's ShapeEnv is made without TorchDynamo, which it imports to look whether it is to check itself."""
    if is_loaded() or _VALIDATOR in sys.modules or symbolic_shapes_config.translation_validation:
        yield
        return
    stand_in = ModuleType(_VALIDATOR)
    stand_in.translation_validation_enabled = lambda: False  # type: ignore[attr-defined]

    def undo() -> None:
        if sys.modules.get(_VALIDATOR) is stand_in:
            del sys.modules[_VALIDATOR]

    with changed(undo):
        sys.modules[_VALIDATOR] = stand_in
        yield


@contextmanager
def sources_alone() -> Iterator[None]:
    """Within, torch's ExportedProgram looks for constants among the sources of its sizes without TorchDynamo, which
    alone makes such sources."""
    if is_loaded() or _ATTRIBUTE in vars(torch):
        yield
        return
    sources = ModuleType(f"{PACKAGE}.source")
    sources.ConstantSource = type("ConstantSource", (), {})  # type: ignore[attr-defined]
    with _shown(source=sources):
        yield


_VALIDATOR = "torch.fx.experimental.validator"


@contextmanager
def dispatch_alone() -> Iterator[None]:
    """Within, FakeTensorMode takes operators without TorchDynamo, which torch imports to keep it away from there."""
    dispatch: Any = getattr(FakeTensorMode.__torch_dispatch__, "__wrapped__", None)
    if is_loaded() or dispatch is None or hasattr(dispatch, _KEPT_AWAY):
        yield
        return

    def undo() -> None:
        if getattr(dispatch, _KEPT_AWAY, None) is dispatch:
            delattr(dispatch, _KEPT_AWAY)

    with changed(undo):
        setattr(dispatch, _KEPT_AWAY, dispatch)
        yield


class CalledDirectly(Loader):
    """Functions of torch's that are not to be compiled, called without TorchDynamo.

    torch imports it at the first call of each, to pass their callees to it (torch/_compile.py, `_disable_dynamo`). Not
    imported, it compiles nothing.
    """

    def __init__(self) -> None:
        self._functions: list[Any] = []
        self._shown: list[tuple[ModuleType, Any]] = []  # the modules, and what torch showed in their place before

    def spec(self) -> ModuleSpec:
        """The spec that the import finds at such a call: of a module for this call, removed after its result."""
        return ModuleSpec(PACKAGE, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(PACKAGE)
        self._shown.append((module, vars(torch).get(_ATTRIBUTE)))

        def disable(function: Any, recursive: bool = True, wrapping: bool = True) -> Any:
            self._take_away()
            self._functions.append(function)
            return function

        module.disable = disable  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""

    def _take_away(self) -> None:
        while self._shown:
            module, before = self._shown.pop()
            if sys.modules.get(PACKAGE) is module:
                del sys.modules[PACKAGE]
            if vars(torch).get(_ATTRIBUTE) is module:
                delattr(torch, _ATTRIBUTE) if before is None else setattr(torch, _ATTRIBUTE, before)

    def forget(self) -> None:
        """torch is to look again, as TorchDynamo may be there then."""
        self._take_away()  # of a call that was interrupted
        for function in self._functions:
            if vars(function).get(_KEPT_AWAY) is function:
                delattr(function, _KEPT_AWAY)
        self._functions.clear()


def _keeps_away() -> None:
    """A function for its wrapper's code."""


KEEPS_AWAY = _disable_dynamo(_keeps_away).__code__
"""The code of what torch puts around a function that is not to be compiled."""
_KEPT_AWAY = "__dynamo_disable"
"""Where torch/_compile.py (`_disable_dynamo`) keeps the function that calls the wrapped one."""


def _config() -> ModuleType | None:
    """The module of the settings; None if this torch has it otherwise, or finds no package on demand."""
    known = sys.modules.get(_CONFIG)
    if known is not None or _ATTRIBUTE not in getattr(torch, "_lazy_modules", ()):
        return known
    path = Path(torch.__path__[0], _ATTRIBUTE, "config.py")
    spec = importlib.util.spec_from_file_location(_CONFIG, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_CONFIG] = module
    try:
        spec.loader.exec_module(module)
    except Exception:  # it needs the package, which is imported the usual way then
        if not is_loaded():
            del sys.modules[_CONFIG]
        return None
    return module


DISABLES = "nothing: exports import TorchDynamo then"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode", "the mode that reads the settings"),
    Symbol("torch.fx.experimental:_config", "whether torch's environment checks itself"),
    Symbol("torch._dynamo.source:ConstantSource", "the source that an ExportedProgram looks for"),
    Symbol("torch#_lazy_modules", "TorchDynamo is imported when it is asked for"),
    Symbol("torch._compile:_disable_dynamo", "whose wrapper imports TorchDynamo at the first call"),
    Symbol("torch._compile#__dynamo_disable", "the function that torch calls for one that is not compiled"),
)

__all__ = [
    "DTENSOR",
    "KEEPS_AWAY",
    "PACKAGE",
    "CalledDirectly",
    "dispatch_alone",
    "environment_alone",
    "is_loaded",
    "load",
    "load_dtensor",
    "settings_alone",
    "sources_alone",
]
