"""The object behind a name in the installed torch: its kind, its signature, and the descriptor behind a method."""

from __future__ import annotations

import importlib
import inspect
import re
from enum import EnumType
from types import FunctionType, ModuleType, UnionType
from typing import Any, Union, get_origin

MISSING = "missing"


def resolve(name: str) -> str:
    """The kind and the signature, as text that can be compared; "missing" and why, if there is no such thing.

    "module:qualified.name" is looked up by `inspect.getattr_static` in classes: a method is its descriptor.
    "module#word" is there if the source of the module has the word.
    """
    module_name, _, path = name.replace("#", ":").partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return f"{MISSING}: no module {module_name}"
    if "#" in name:
        found = re.search(rf"\b{path}\b", _source(module))
        return "word of the source" if found else f"{MISSING}: {module_name} does not mention {path}"
    value: Any = module
    for part in path.split("."):
        try:
            value = inspect.getattr_static(value, part) if isinstance(value, type) else getattr(value, part)
        except AttributeError:
            if isinstance(value, type) and _is_set_by(value, part):
                return "attribute of instances"
            try:
                value = importlib.import_module(f"{module_name}.{part}")
            except ImportError:
                return f"{MISSING}: no {part} in {_text(value)}"
    return describe(value)


def describe(value: Any) -> str:
    """The type, and the names of the parameters with "=" where there is a default."""
    if isinstance(value, EnumType):  # how one is called is written in CPython's enum.py, and changes with it
        return type(value).__name__
    if get_origin(value) in (Union, UnionType):  # one class from Python 3.14 on
        return "Union"
    function = getattr(value, "__func__", value)
    if not isinstance(function, FunctionType) and not inspect.isclass(function):
        return type(value).__name__
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return type(value).__name__
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + p.name + ("" if p.default is p.empty else "=") for p in parameters]
    return f"{type(value).__name__}({', '.join(names)})"


def _is_set_by(cls: type, name: str) -> bool:
    return any(re.search(rf"self\.{name}\b|\b{name} *:", _source(base)) for base in cls.__mro__[:-1])


def _source(of: Any) -> str:
    try:
        return inspect.getsource(of)
    except (OSError, TypeError):
        return ""


def _text(value: Any) -> str:
    return value.__name__ if isinstance(value, (type, ModuleType)) else type(value).__name__
