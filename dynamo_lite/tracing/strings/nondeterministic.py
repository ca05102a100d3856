"""A value that differs from call to call: harmless unless it is used.

`random.random()` or `time.time()` in forward is fine as long as its value does not matter (a layer-drop that is off in
eval mode, a timing that is only logged). The tracer gives the program an `Unrecordable` in place of the number;
arithmetic on it gives another, and any use that would let the value into the program is refused at that line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.strings import discarded


class Unrecordable:
    """Stands for the result of `function`; `refuse(function)` raises. `is_dropped()`: a string is made that is
    discarded."""

    __slots__ = ("_function", "_is_dropped", "_refuse")

    def __init__(
        self, function: str, refuse: Callable[[str], NoReturn], is_dropped: Callable[[], bool] = lambda: False
    ) -> None:
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_refuse", refuse)
        object.__setattr__(self, "_is_dropped", is_dropped)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocol probes (hasattr(x, "__array__")) are not uses of the value
            raise AttributeError(name)
        return _used(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _used(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch asks this when an operator is given an `Unrecordable`."""
        for value in (*args, *(kwargs or {}).values()):
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if type(item) is cls:
                    return _used(item)
        return NotImplemented


def _used(self: Any, *args: Any) -> Any:
    self._refuse(self._function)


def _another(self: Any, *args: Any) -> Any:
    return Unrecordable(self._function, self._refuse, self._is_dropped)


def _in_text(instead: Any) -> Callable[..., Any]:
    """What makes a text of the value, or a number that `"%.2f" % value` formats: any will do in a string that is
    discarded."""

    def use(self: Any, *args: Any) -> Any:
        return instead if self._is_dropped() else _used(self)

    return use


_ARITHMETIC = "add sub mul truediv floordiv mod pow"
_PROPAGATES = f"{_ARITHMETIC} {' '.join('r' + name for name in _ARITHMETIC.split())} neg pos abs round".split()
_USES = (
    "bool complex hash len iter contains getitem eq ne lt le gt ge array setitem "
    "delitem next reversed matmul rmatmul divmod rdivmod invert trunc floor ceil enter exit "
    "and rand or ror xor rxor lshift rlshift rshift rrshift"
)

for _name in _PROPAGATES:
    setattr(Unrecordable, f"__{_name}__", _another)
for _name in _USES.split():
    setattr(Unrecordable, f"__{_name}__", _used)
for _name, _instead in {"str": "...", "repr": "...", "format": "...", "int": 0, "index": 0, "float": 0.0}.items():
    setattr(Unrecordable, f"__{_name}__", _in_text(_instead))


def unrecordable_function(value: Unrecordable) -> str:
    """The function whose result `value` stands for."""
    return str(object.__getattribute__(value, "_function"))


def unrecordable(tracer: TracerView, name: str) -> Unrecordable:
    """What stands for the result of `name`: refused where it is used, except in a string that is discarded."""
    is_dropped = partial(discarded.is_dropped, tracer)
    return Unrecordable(name, lambda function: tracer.refuse("unrecordable-value", function=function), is_dropped)
