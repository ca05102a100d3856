"""Guards on the values of inputs, as texts that torch checks.

The text asserts a tensor, so that torch.compile and torch.export take it when they trace `module()`: a bool of Python
would be a branch on data there. Floating-point numbers are compared by their bits, as integers: NaN equals itself, and
-0.0 is not 0.0.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.program.trees.paths import path_in_words
from dynamo_lite.torch_internals._torch_pytree import pytree

MOST_ELEMENTS = 1 << 16
"""Of one input: each is a number in the text of its guard."""

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_WHOLE = frozenset({torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_MOST_SHOWN = 120


def is_comparable(dtype: torch.dtype) -> bool:
    """Whether there are guards on tensors of this dtype."""
    return dtype in _WHOLE or (dtype.is_floating_point and dtype.itemsize in _INTEGERS)


def text_of(path: str, words: str, value: torch.Tensor) -> str:
    """The guard. path: Python for the input, over `L`; words: its name; value: a tensor of a dtype that
    `is_comparable`, with data.

    torch writes the text into a string in double quotes, and evaluates it with an fx.Proxy as the input, of
    which `is None` is False: hence no quotes in the message, and the tuple.
    """
    bits = "" if value.dtype in _WHOLE else f".detach().view({_bits(value.dtype)})"
    dtype = value.dtype if value.dtype in _WHOLE else _bits(value.dtype)
    constant = f"torch.tensor({_numbers(value)}, dtype={dtype}, device={path}.device)"
    message = f"Input {words} has another value than in the example".replace("'", "").replace('"', "")
    return f"(torch._assert_async(({path}{bits} == {constant}).all(), '{message}'), True)[1]"


def _numbers(value: torch.Tensor) -> Any:
    value = value.detach()
    return (value if value.dtype in _WHOLE else value.contiguous().view(_INTEGERS[value.dtype.itemsize])).tolist()


@dataclass(frozen=True)
class ValueGuard:
    """A guard on the value of flat input `leaf`. `words` name it, `expected` are its numbers as the guard has them,
    `dtype` is theirs."""

    leaf: int
    words: str
    expected: Any
    dtype: torch.dtype

    def complaint(self, given: Any) -> str | None:
        """How the value of a call differs, in words; None if it is the expected one."""
        if not isinstance(given, torch.Tensor) or not is_comparable(given.dtype):
            return f"Input {self.words}: expected a tensor, given {given!r:.{_MOST_SHOWN}}."
        if _numbers(given) == self.expected:
            return None
        wanted = torch.tensor(self.expected, dtype=self.dtype)
        if given.dtype not in _WHOLE and given.dtype.itemsize == self.dtype.itemsize:
            wanted = wanted.view(given.dtype)
        found = f"expected the constant {_shown(wanted)}, given {_shown(given)}"
        return f"Input {self.words}: {found}.{_first(wanted, given)}"


def _bits(dtype: torch.dtype) -> torch.dtype:
    return _INTEGERS[dtype.itemsize]


def _shown(value: torch.Tensor) -> str:
    text = str(value.tolist())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _first(wanted: torch.Tensor, given: torch.Tensor) -> str:
    """` The first difference is at [0, 1].` of values that are too long to be shown."""
    if wanted.shape != given.shape or len(str(given.tolist())) <= _MOST_SHOWN:
        return ""
    differ = torch.tensor(_numbers(given)) != torch.tensor(_numbers(wanted))
    return f" The first difference is at {differ.nonzero()[0].tolist()}."


def as_condition(text: str, paths: Sequence[pytree.KeyPath]) -> str:
    """A guard on a value as Python that is read easily; another guard as it is."""
    guard = parsed(text, paths)
    if guard is None:
        return text
    bits = "" if guard.dtype in _WHOLE else f".detach().view({guard.dtype})"
    return f"L{pytree.keystr(paths[guard.leaf])}{bits}.tolist() == {guard.expected}"


def parsed(text: str, paths: Sequence[pytree.KeyPath]) -> ValueGuard | None:
    """The guard that a text is, or None. paths: of each flat input, from the dict of the arguments."""
    found = _FORM.match(text)
    names = [f"L{pytree.keystr(path)}" for path in paths] if found is not None else []
    if found is None or found["path"] not in names:
        return None
    leaf = names.index(found["path"])
    words = [path_in_words(path) for path in paths]
    return ValueGuard(leaf, words[leaf], ast.literal_eval(found["value"]), getattr(torch, found["dtype"]))


_FORM = re.compile(
    r"\(torch\._assert_async\(\((?P<path>L\[.*?)(?:\.detach\(\)\.view\(torch\.int\d+\))? == "
    r"torch\.tensor\((?P<value>[^()]+), dtype=torch\.(?P<dtype>\w+), device="
)


def is_on_a_value(text: str) -> bool:
    """Whether a guard is one on the value of an input."""
    return _FORM.match(text) is not None
