"""State that a program has read of an object that is an argument, besides its leaves.

A registered flatten function returns the leaves of a container; the program takes all other state from the object that
the registered unflatten function makes of them. An object of a later call may hold other state: a cache whose window
was full, a counter. The program cannot see that, so the call checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from dynamo_lite.errors import StructureMismatch
from dynamo_lite.program._torch import PythonPrinter
from dynamo_lite.program.shapes.size_check import NAMESPACE
from dynamo_lite.program.trees.container_context import Key, decode, decode_key, encode, encode_key
from dynamo_lite.program.trees.containers import state_of
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import ToSympy
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import NotConvertible
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH

_MISSING = object()


@dataclass(frozen=True)
class StateRead:
    """A part of an argument that the program has read.

    Attributes:
        path: from (args, kwargs) to it.
        words: the same for people: `cache.layers[0].length`.
        expected: the constant that it is in the program; None beside a `text`.
        others: further constants and classes with which the program is the same.
        text: Python of the sizes in `symbols` that computes it, where it depends on them.
        symbols: name → (flat input, dimension).
    """

    path: tuple[Key, ...]
    words: str
    expected: Any = None
    text: str = ""
    symbols: Mapping[str, tuple[int, int]] | None = None
    others: tuple[Any, ...] = ()

    @cached_property
    def _compute(self) -> Callable[[Sequence[Any]], Any]:
        if not self.text:
            return lambda leaves: self.expected
        code, symbols = compile(self.text, "<size>", "eval"), (self.symbols or {}).items()
        return lambda leaves: eval(code, NAMESPACE, {name: leaves[leaf].shape[dim] for name, (leaf, dim) in symbols})

    def check(self, call: Any, leaves: Sequence[Any]) -> None:
        """`call` is (args, kwargs), `leaves` the result of flattening it. Raises StructureMismatch."""
        given = _at(call, self.path)
        expected = self._compute(leaves)
        if isinstance(given, torch.SymInt) or isinstance(expected, torch.SymInt):
            return  # another trace looks at the program
        if any(type(given) is type(known) and (given == known or given != given) for known in (expected, *self.others)):
            return
        shown = "nothing" if given is _MISSING else repr(given)
        raise StructureMismatch(
            f"Input {self.words}: expected {expected!r}, given {shown}. The program reads it, and has only what the "
            "registered functions of the container keep: they lose what this object holds."
        )

    def to_json(self) -> dict[str, Any]:
        """JSON-able."""
        symbols = {name: [*place] for name, place in (self.symbols or {}).items()}
        path = [encode_key(key) for key in self.path]
        return {"path": path, "words": self.words, "expected": encode(self.expected), "text": self.text,
                "symbols": symbols, "others": [encode(other) for other in self.others]}  # fmt: skip

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> StateRead:
        """The inverse of `to_json`."""
        symbols = {name: (leaf, dim) for name, (leaf, dim) in values["symbols"].items()}
        path = tuple(map(decode_key, values["path"]))
        others = tuple(map(decode, values.get("others", ())))
        return cls(path, values["words"], decode(values["expected"]), values["text"], symbols, others)


def state_read(
    path: tuple[Key, ...], words: str, value: Any, leaves: Sequence[Any], others: tuple[Any, ...] = ()
) -> StateRead | None:
    """The check for `value`, a constant or a size that the program has read; None if there is none.

    leaves: the flat inputs of the run, with its own symbols. others: as of StateRead.
    """
    if type(value) is not torch.SymInt:
        return StateRead(path, words, value, others=others)
    node = value.node.core
    places = _places(leaves)
    found = {symbol: places.get(symbol) for symbol in symbols_of(node)} if isinstance(node, Int) else {}
    if not found or any(place is None for place in found.values()):
        return None
    try:
        text = PythonPrinter().doprint(ToSympy(heads=TORCH)(node))
    except NotConvertible:
        return None
    return StateRead(path, words, None, text, {s.name: place for s, place in found.items() if place is not None})


def _places(leaves: Sequence[Any]) -> dict[Symbol, tuple[int, int]]:
    """Where each symbol is a size of an input."""
    found: dict[Symbol, tuple[int, int]] = {}
    for index, leaf in enumerate(leaves):
        for dim, size in enumerate(leaf.shape) if isinstance(leaf, torch.Tensor) else ():
            atom = size.node.core.as_atom() if type(size) is torch.SymInt else None
            if isinstance(atom, Symbol):
                found.setdefault(atom, (index, dim))
    return found


def _at(value: Any, path: Iterable[Key]) -> Any:
    for key in path:
        value = dict(state_of(value)).get(key, _MISSING)
    return value
