"""The sets of types that classify values: atoms, containers, callables of C. No other file defines such a set.

Where a set has to differ from ATOMS, CONSTANTS, CONTAINERS or C_CALLABLES it has a name here, with the reason
(tests/test_value_types.py has a case for each). Those of torch are made when they are first imported: the interpreter
and the guards on Python values need no torch.
"""

from __future__ import annotations

import collections
import enum
import re
import types
from typing import TYPE_CHECKING, Any, Final

# ---- atoms: immutable values without parts, whose `==` is CPython's own
NUMBERS_AND_TEXT: Final = (int, float, complex, bool, str, bytes)
"""Less than ATOMS: operators between two of them run no Python code (NotImplemented, None and range have few)."""
ATOMS: Final = (*NUMBERS_AND_TEXT, type(None), type(...), type(NotImplemented), range)
GRAPH_ATOMS: Final = (type(None), bool, int, float, str)
"""Less than ATOMS: those that a graph of torch.export holds as an output or in a context."""
STRUCTURE_ATOMS: Final = (bytes, complex, range, type(...))
"""The ATOMS that a graph cannot hold and a saved structure can. Without NotImplemented: no function returns it."""
HOLD_NO_FUNCTIONS: Final[frozenset[type]] = frozenset(
    {
        *ATOMS, bytearray, slice, types.CodeType, types.ModuleType, types.BuiltinFunctionType,
        types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType, types.CellType, types.FrameType, types.TracebackType, types.GeneratorType,
        types.CoroutineType, types.AsyncGeneratorType, memoryview, object,
    }
)  # fmt: skip
"""More than ATOMS: C code may be handed these freely. They may change, but it calls no Python function in them."""

# ---- containers
BUILT_IN_CONTAINERS: Final = (list, tuple, dict, set, frozenset)
"""Less than CONTAINERS: those that Python's syntax makes."""
CONTAINERS: Final = (*BUILT_IN_CONTAINERS, collections.deque)
CONTAINERS_AND_VIEWS: Final[tuple[type, ...]] = (
    *CONTAINERS, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
"""More than CONTAINERS: what shows the functions that a container holds to C code."""
ITERATED_IN_C: Final = (*BUILT_IN_CONTAINERS, str, bytes, range)
"""More than containers: iterating over an object of the exact type runs no Python code."""
COMPARED_BY_ITEM: Final = (list, tuple, dict, collections.deque, collections.OrderedDict, slice)
"""Those whose `==` compares items, one by one, by identity first. (Sets compare the hash.)"""
MUTABLE_CONTAINERS: Final = (
    list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict, bytearray,
)  # fmt: skip
"""Those whose items may be changed by a subclass's instance too, each with a layout of its own in memory."""

# ---- callables of C
_DEFINING_CLASS_METHOD: Final = type(re.compile("").match)  # a C method that is passed its class (PEP 573)
BOUND_METHODS_OF_C: Final = frozenset({types.BuiltinMethodType, _DEFINING_CLASS_METHOD})
BOUND_IN_C: Final = BOUND_METHODS_OF_C | {types.MethodWrapperType}
"""Those that hold an instance: they are made again at each access, so that nothing may be kept by their identity."""
C_FUNCTIONS: Final = frozenset(
    {
        types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
    }
)  # fmt: skip
"""Less than C_CALLABLES: the keys of tables (`callees.callee_key`). Functions and bound methods have one type."""
C_CALLABLES: Final = BOUND_IN_C | C_FUNCTIONS

# ---- torch's
if TYPE_CHECKING:
    TORCH_CONSTANTS: tuple[type, ...]
    CONSTANTS: tuple[type, ...]
    SHAPES_AND_CONSTANTS: tuple[type, ...]
    UNIQUE_OR_CONSTANT: tuple[type, ...]
    IN_STRUCTURE: tuple[type, ...]
    OPERATOR_KEYS: frozenset[type]
    SAVED_CONSTANTS: tuple[type, ...]
    WRITABLE: tuple[type, ...]


def _of_torch() -> dict[str, Any]:
    import torch

    of_torch = (torch.dtype, torch.device, torch.layout, torch.memory_format)
    return {
        "TORCH_CONSTANTS": of_torch,
        # values that hold nothing: equal ones may stand for each other
        "CONSTANTS": (*ATOMS, *of_torch),
        # a shape is looked at as a whole, though it is a tuple: what it holds are sizes
        "SHAPES_AND_CONSTANTS": (*ATOMS, *of_torch, torch.Size),
        # members of an Enum have attributes, and are one object each
        "UNIQUE_OR_CONSTANT": (*ATOMS, *of_torch, enum.Enum),
        # what a graph cannot hold and a structure can; of any class, since members of an Enum are
        "IN_STRUCTURE": (enum.Enum, *of_torch),
        # equal ones of one type are one argument to an operator: of floats 0.0 and -0.0 are not
        "OPERATOR_KEYS": frozenset({int, bool, str, type(None), *of_torch}),
        # those that the facts beside a saved program can hold
        "SAVED_CONSTANTS": (*GRAPH_ATOMS, torch.dtype, torch.device),
        # those whose repr() torch.export.load can evaluate, as that of a device is not
        "WRITABLE": (bool, int, float, str, type(None), torch.dtype),
    }


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in (made := _of_torch()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(made)
    return made[name]
