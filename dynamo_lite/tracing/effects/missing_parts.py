"""Parts of a registered container that its functions lose: values of the user's object that the run's lacks."""

from __future__ import annotations

from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from dynamo_lite.program.trees.container_context import Key
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.value_types import CONSTANTS

_NAMED = (type, FunctionType, BuiltinFunctionType)


@dataclass(frozen=True)
class MissingPart:
    """A part of the user's object that is not in the container that the run gets: `key` of what `path` leads to."""

    path: tuple[Key, ...]
    key: Key
    value: Any
    other: Any

    @property
    def old(self) -> str:
        return text_of(self.value)

    @property
    def new(self) -> str:
        return text_of(self.other)

    @property
    def can_be_put_back(self) -> bool:
        """Whether the run's container may be given the user's: a constant, a class or a function has no parts."""
        return isinstance(self.value, (*CONSTANTS, *_NAMED)) and isinstance(self.other, (*CONSTANTS, *_NAMED))

    def __str__(self) -> str:
        keys = (*self.path, self.key)[2:]
        return "".join(f".{key.name}" if key.kind == "attr" else f"[{key.name!r}]" for key in keys)


def text_of(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    if isinstance(value, _NAMED):
        return value.__qualname__
    return repr(value) if isinstance(value, CONSTANTS) else f"a {type(value).__qualname__}"
