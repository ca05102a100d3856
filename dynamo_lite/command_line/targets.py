"""Targets on the command line: `FILE:NAME`, and expressions over the names that the file defines.

FILE is a path to a Python file or the name of a module that can be imported; NAME any Python expression over the names
that it defines, and `torch`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from dynamo_lite.command_line.usage import UsageError


@dataclass(frozen=True)
class Target:
    """A program to export: `module` as it is called, `names` what expressions about it may use."""

    module: Callable[..., Any]
    names: dict[str, Any]


def target(text: str, seed: int = 0) -> Target:
    """The program at `FILE:NAME`. torch's generators are seeded before the file is imported, and again after that:
    a module that the file makes has the same weights each time, and so has one that NAME makes.

    A class is made (it must take no arguments), a function without parameters is a factory and is called, any other
    callable is the program itself. Raises UsageError if there is nothing that can be called.
    """
    file, name = split(text)
    torch.manual_seed(seed)
    names = names_of(file)
    torch.manual_seed(seed)
    found = evaluate(name, names, f"{text!r}")
    if isinstance(found, type):
        found = _called(found, text, "the class")
    elif type(found) is FunctionType and not inspect.signature(found).parameters:
        found = _called(found, text, "the factory")
    if not callable(found):
        raise UsageError(f"{text!r} is a {type(found).__qualname__}, which cannot be called")
    return Target(found, names)


def split(text: str) -> tuple[str, str]:
    """(FILE, NAME) of `FILE:NAME`; the drive letter of a path on Windows belongs to FILE."""
    start = 2 if len(text) > 2 and text[1] == ":" and text[2] in "\\/" else 0
    file, colon, name = text[start:].partition(":")
    if not colon or not file or not name:
        raise UsageError(f"{text!r} is not of the form FILE:NAME (as in model.py:Net or package.models:make_net)")
    return text[:start] + file, name


def names_of(file: str) -> dict[str, Any]:
    """Return the names that a file (or importable module) defines, and `torch`. Raises UsageError if it is missing."""
    module = _of_path(Path(file)) if file.endswith(".py") else _of_name(file)
    return {"torch": torch, **vars(module)}


def evaluate(expression: str, names: dict[str, Any], where: str) -> Any:
    """The value of a Python expression. Raises UsageError for one that cannot be read or raises."""
    try:
        return eval(expression, names)
    except Exception as error:
        raise UsageError(f"{where}: {expression!r} raised {type(error).__name__}: {error}") from error


def _of_path(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}")
    name = path.stem
    for loaded in tuple(sys.modules.values()):
        if getattr(loaded, "__file__", None) == str(path.resolve()):
            return loaded  # FILE of the program and of its inputs: the same classes
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As for `python FILE`, modules in its folder can be imported. The folder comes last on sys.path, so that a
    # `types.py` in it does not hide the standard library's.
    sys.path.append(str(path.resolve().parent))
    known = sys.modules.setdefault(name, module)  # pickles and dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if known is module:
            del sys.modules[name]
        raise UsageError(f"{str(path)!r} raised {type(error).__name__} when it was imported: {error}") from error
    return module


def _of_name(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(f"there is no module {name!r} ({error}); a file is given with its .py") from error
    except Exception as error:
        raise UsageError(f"module {name!r} raised {type(error).__name__} when it was imported: {error}") from error


def _called(found: Any, text: str, what: str) -> Any:
    try:
        made = found()
    except Exception as error:
        hint = f"; write the call, as in '{text}(...)'" if isinstance(error, TypeError) else ""
        raise UsageError(f"{what} {text!r} raised {type(error).__name__}: {error}{hint}") from error
    if what == "the factory" and not isinstance(made, nn.Module) and not callable(made):
        raise UsageError(f"{what} {text!r} returned a {type(made).__qualname__}, which cannot be called")
    return made
