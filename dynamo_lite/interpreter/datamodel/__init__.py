"""Python's data model as opcodes and lookasides use it; every function takes the interpreter first.

One law holds for all of them: built-in functions run natively at C speed, Python functions are interpreted.
trampolines.py describes how C code's own dispatch enters the interpreter.

Called by the opcodes and lookasides. Imports `interpreter/code` and the observer's protocol.
"""

from __future__ import annotations

from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.datamodel.attributes import (
    class_changed,
    delattr_,
    getattr_,
    lookup_special,
    setattr_,
    type_lookup,
)
from dynamo_lite.interpreter.datamodel.calls import call_class, construct, native
from dynamo_lite.interpreter.datamodel.operators import (
    BINARY,
    COMPARE,
    INPLACE,
    UNARY,
    binary,
    compare,
    eq,
    inplace,
    is_,
    truth,
    unary,
)
from dynamo_lite.interpreter.datamodel.protocols import (
    advance,
    ascii_,
    bytes_,
    call_length_hint,
    contains,
    delitem,
    format_,
    getitem,
    hash_,
    index_,
    isinstance_,
    issubclass_,
    iter_,
    length,
    next_,
    repr_,
    setitem,
    str_,
)

__all__ = [
    "BINARY", "COMPARE", "INPLACE", "MISSING", "UNARY", "advance", "ascii_", "call_length_hint", "binary", "bytes_",
    "call_class", "class_changed", "compare", "construct", "contains", "delattr_", "delitem", "eq", "format_",
    "getattr_", "getitem", "hash_", "index_", "inplace",
    "is_", "isinstance_", "issubclass_", "iter_", "length",
    "lookup_special", "native", "next_", "repr_", "setattr_", "setitem", "str_", "truth",
    "type_lookup", "unary",
]  # fmt: skip
