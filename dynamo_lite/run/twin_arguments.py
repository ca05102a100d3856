"""Arguments that are one container in the caller's hands, and two in the run: does the program see a difference?"""

from __future__ import annotations

from typing import Any

from dynamo_lite.errors import UnsupportedValue
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.trees.twins import Path, at, twins, words
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary import contents


def must_be_apart(tracer: TracerView, inputs: FlatInputs, call: Any) -> tuple[tuple[Path, Path], ...] | None:
    """Return the argument pairs that must not alias. Raises UnsupportedValue if the program distinguishes two.

    call: (args, kwargs) of the run.
    """
    given = inputs.args, inputs.kwargs
    own = {id(part) for part in contents.containers(call)} - {id(call), *map(id, call)}
    touched = own & tracer.journal.touched
    compared = [set(ids) for how, *ids in tracer.reads.places if how == "is" and own.issuperset(ids)]
    if not touched and not compared:
        return None
    pairs = tuple(twins(given))
    for one, other in pairs:
        left, right = ({id(part) for part in contents.containers(at(call, path))} for path in (one, other))
        asked = any(ids & left and ids & right for ids in compared)
        if at(call, one) is not at(call, other) and (asked or touched & (left | right)):
            names = inputs.arg_names
            text = f"it is the very object that is {words(one, names)}, and the program changes it or asks for that"
            raise UnsupportedValue(words(other, names), f"{text}; a program gets two containers. Pass it once")
    return pairs
