"""The example call and the sizes that may vary, from the words of a command line.

--input 'torch.randn(2, 3)'        the next positional argument, a Python expression
--kwarg 'mask=torch.ones(2, 3)'    a keyword argument
--inputs FILE:FUNC                 FUNC() returns args, or (args, kwargs); ":FUNC" is one in the program's own file
--dynamic 'x:0=batch,1=length'     dimensions 0 and 1 of the argument x
--dynamic 'batch=2..64'            the range of batch; `2..` and `..64` leave an end open
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch.export import Dim

from dynamo_lite.command_line.targets import Target, evaluate, names_of
from dynamo_lite.command_line.usage import UsageError
from dynamo_lite.pipeline import signature_of

Call = tuple[tuple[Any, ...], dict[str, Any]]

_RANGE = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<low>\d*)\.\.(?P<high>\d*)$")
_PLACE = re.compile(r"(?P<path>[A-Za-z_][\w.]*):(?P<dims>-?\d+=.+)$")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(?!=)(.*)$", re.DOTALL)
_HINTS: Mapping[str, Any] = {"auto": Dim.AUTO, "dynamic": Dim.DYNAMIC, "static": Dim.STATIC}
"""In small or capital letters, with `Dim.` before them or not."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\s*=[^=]")
_DERIVED = re.compile(r"(?:(?P<times>\d+)\*)?(?P<name>[A-Za-z_]\w*)(?P<plus>[+-]\d+)?$")


def call_of(target: Target, inputs: Sequence[str], keywords: Sequence[str], function: str | None) -> Call:
    """The example call. Raises UsageError for words that cannot be read."""
    args, kwargs = _from_function(target, function) if function else ((), {})
    for text in inputs:
        if _ASSIGNMENT.match(text):
            raise UsageError(f"--input: {text!r} names an argument: a keyword argument is given with --kwarg (-k)")
    args += tuple(evaluate(text, target.names, "--input") for text in inputs)
    for text in keywords:
        found = _KEYWORD.match(text)
        if found is None:
            raise UsageError(f"--kwarg {text!r} is not of the form NAME=EXPRESSION")
        kwargs[found[1]] = evaluate(found[2], target.names, "--kwarg")
    return args, kwargs


def _from_function(target: Target, text: str) -> Call:
    file, _, name = text.rpartition(":")
    names = names_of(file) if file else target.names
    made = evaluate(f"{name}()", names, f"--inputs {text}")
    if isinstance(made, Mapping):
        return (), dict(made)
    if not isinstance(made, (tuple, list)):
        return (made,), {}
    # (args, kwargs) is a pair of a tuple and a dict; a tuple of arguments may end with a dict, but not begin with one
    if len(made) == 2 and isinstance(made[0], (tuple, list)) and isinstance(made[1], dict):
        return tuple(made[0]), dict(made[1])
    return tuple(made), {}


def dynamic_shapes_of(target: Target, call: Call, words: Sequence[str]) -> dict[str, Any] | None:
    """`dynamic_shapes` for export; None without words. Raises UsageError for words that cannot be read, and
    for a call that does not fit the program's signature."""
    arguments = _arguments(target, call)
    if not words:
        return None
    ranges = {found["name"]: _ends(found) for text in words if (found := _RANGE.match(text))}
    places = [(text, _PLACE.match(text)) for text in words if not _RANGE.match(text)]
    shapes: dict[str, Any] = dict.fromkeys(arguments)
    dims = {name: _dim(name, low, high) for name, (low, high) in ranges.items()}
    for text, found in places:
        if found is None:
            raise UsageError(f"--dynamic {text!r} is not of the form ARGUMENT:DIM=NAME,... or NAME=LOW..HIGH")
        _put(shapes, arguments, found["path"].split("."), _read_dims(found["dims"], dims))
    used = {name for _, found in places if found for name in re.findall(r"[A-Za-z_]\w*", found["dims"])}
    unused = sorted(ranges.keys() - used)
    if unused:
        raise UsageError(f"--dynamic gives a range to {', '.join(unused)}, and no dimension has that name")
    return shapes


def _arguments(target: Target, call: Call) -> dict[str, Any]:
    args, kwargs = call
    try:
        return dict(signature_of(target.module).bind(*args, **kwargs).arguments)
    except TypeError as error:
        raise UsageError(f"the example call does not fit the program: {error}") from error


def _ends(found: re.Match[str]) -> tuple[int | None, int | None]:
    return (int(found["low"]) if found["low"] else None, int(found["high"]) if found["high"] else None)


def _dim(name: str, low: int | None, high: int | None) -> Any:
    ends = {end: value for end, value in (("min", low), ("max", high)) if value is not None}
    try:
        return Dim(name, **ends)
    except Exception as error:  # torch raises AssertionError and ValueError
        raise UsageError(f"--dynamic {name}: {error}") from error


def _read_dims(text: str, dims: dict[str, Any]) -> dict[int, Any]:
    found = {}
    for part in text.split(","):
        number, equals, word = part.partition("=")
        if not equals or not re.fullmatch(r"-?\d+", number.strip()):
            raise UsageError(f"--dynamic: {part!r} is not of the form DIM=NAME")
        found[int(number)] = _spec(word.strip(), dims)
    return found


def _spec(word: str, dims: dict[str, Any]) -> Any:
    hint = _HINTS.get(word.removeprefix("Dim.").lower())
    if hint is not None:
        return hint
    if word.isdigit():
        return int(word)
    found = _DERIVED.match(word)
    if found is None:
        raise UsageError(f"--dynamic: {word!r} is not a name, a number or auto, and not of the form 2*name+1")
    if found["name"] not in dims:
        dims[found["name"]] = _dim(found["name"], None, None)
    made = dims[found["name"]]
    if found["times"]:
        made = int(found["times"]) * made
    if found["plus"]:
        made = made + int(found["plus"])
    return made


def _put(shapes: dict[str, Any], arguments: dict[str, Any], path: Sequence[str], spec: dict[int, Any]) -> None:
    """Set `spec` at a path: an argument, then keys, numbers or fields below it. Others are None: static."""
    if path[0] not in shapes:
        raise UsageError(f"--dynamic: there is no argument {path[0]!r} (the arguments: {', '.join(shapes)})")
    holder: Any = shapes
    values: Any = arguments
    for key, below in zip(path, [*path[1:], None]):
        place = _key(values, key, ".".join(path))
        values = values[place] if isinstance(values, (Mapping, list, tuple)) else getattr(values, place)
        if below is None:
            holder[place] = {**(_at(holder, place) or {}), **spec}
        else:
            if _at(holder, place) is None:
                holder[place] = _none_for(values)
            holder = holder[place]


def _at(holder: Any, place: Any) -> Any:
    return holder.get(place) if isinstance(holder, dict) else holder[place]


def _none_for(value: Any) -> Any:
    """The specification of a container of which nothing varies, to be filled in."""
    if isinstance(value, Mapping):
        return dict.fromkeys(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [None] * len(value)
    return {}  # an object: a dict of fields


def _key(value: Any, text: str, path: str) -> Any:
    """The key, number or attribute of `value` that is written `text`."""
    if isinstance(value, Mapping):
        found = [key for key in value if str(key) == text]
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        found = [int(text)] if text.isdigit() and int(text) < len(value) else []
    else:
        found = [text] if hasattr(value, text) else []
    if not found:
        raise UsageError(f"--dynamic {path}: a {type(value).__qualname__} has no {text!r}")
    return found[0]
