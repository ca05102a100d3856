"""`"{0.shape}".format(x)`: C code reads attributes of a tensor, which differ on a fake tensor.

The fields that lead into a tensor are read by the interpreter, as if the program read them, and the text is made of the
results.
"""

from __future__ import annotations

from _string import formatter_field_name_split, formatter_parser
from collections.abc import Iterator
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_FOUND = "_dynamo_lite_{}"


def call_format(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """str.format(template, ...) and str.format_map(template, mapping)."""
    if not args or not isinstance(args[0], str) or "." not in args[0]:
        return NOT_HANDLED
    positional = args[1:] if fn is str.format else ()
    named = kwargs if fn is str.format else args[1] if type(args[1]) is dict else {}
    if not any(is_tensor(value) for value in (*positional, *named.values())):
        return NOT_HANDLED
    found = dict(named)
    try:
        template = "".join(_parts(tracer, args[0], positional, found))
    except (ValueError, IndexError, KeyError, TypeError):
        return NOT_HANDLED  # str.format raises the error
    if len(found) == len(named):
        return NOT_HANDLED
    return tracer.vm.call(str.format, (template, *positional), found)


def _parts(tracer: TracerView, template: str, positional: tuple[Any, ...], found: dict[str, Any]) -> Iterator[str]:
    """The template again, in which each field that reads an attribute of a tensor is an argument of its own."""
    automatic = 0
    for literal, name, spec, conversion in formatter_parser(template):
        yield literal.replace("{", "{{").replace("}", "}}")
        if name is None:
            continue
        first, accesses = formatter_field_name_split(name)
        rest = list(accesses)
        if first == "":
            first, name, automatic = automatic, f"{automatic}{name}", automatic + 1
        value = positional[first] if isinstance(first, int) else found[first]
        if rest and is_tensor(value):
            for is_attribute, key in rest:
                value = tracer.vm.getattr(value, key) if is_attribute else value[key]
            name = _FOUND.format(len(found))
            found[name] = value
        if spec and "{" in spec:
            raise ValueError("a field within a field")
        yield f"{{{name}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}}}"
