"""The methods of the built-in containers that change them. All other methods of these types only look."""

from __future__ import annotations

from dynamo_lite.tracing.policy.verdicts import CallVerdict, mutates

_LIST = "append extend insert pop remove clear __setitem__ __delitem__ __iadd__ __imul__ __init__"
_DICT = "update setdefault pop popitem clear __setitem__ __delitem__ __ior__ __init__"
_SET = (
    "add discard remove pop clear update difference_update intersection_update symmetric_difference_update "
    "__ior__ __iand__ __isub__ __ixor__ __init__"
)

METHODS: dict[str, str] = {
    "builtins:list": f"{_LIST} sort reverse",
    "builtins:dict": _DICT,
    "collections:OrderedDict": f"{_DICT} move_to_end",
    "collections:defaultdict": "__missing__ __init__ __ior__",
    "builtins:set": _SET,
    "collections:deque": f"{_LIST} appendleft extendleft popleft rotate reverse",
    "builtins:bytearray": f"{_LIST} reverse resize",
    "array:array": f"{_LIST} reverse byteswap frombytes fromfile fromlist fromunicode fromstring",
}
"""Type → the methods that change its instance's items."""

_MEMORY: dict[str, str] = {"builtins:memoryview": "__setitem__ __delitem__"}
_READ_INTO = [
    "_io:BytesIO",
    "_io:FileIO",
    "_io:BufferedReader",
    "_io:BufferedRandom",
    "_io:_BufferedIOBase",
    "_io:_RawIOBase",
]

NAMES: dict[str, CallVerdict] = {
    **{f"{kind}.{name}": mutates(0) for kind, names in METHODS.items() for name in names.split()},
    **{
        f"{kind}.{name}": mutates(0, part="memory") for kind, names in _MEMORY.items() for name in names.split()
    },
    **{f"{kind}.{name}": mutates(1, part="memory") for kind in _READ_INTO for name in ("readinto", "readinto1")},
    **{f"builtins:{kind}.{name}": mutates(0, part="attributes") for kind in ("object", "type")
       for name in ("__setattr__", "__delattr__")},
}  # fmt: skip
"""Name of a method → the argument and part that it changes."""
