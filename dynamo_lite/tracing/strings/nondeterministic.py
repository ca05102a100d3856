"""A value that differs from call to call: harmless unless it is used.

`random.random()` or `time.time()` in forward is fine as long as its value does not matter (a layer-drop that is off in
eval mode, a timing that is only logged). The tracer gives the program an `Unrecordable` in place of the number;
arithmetic on it gives another, and any use that would let the value into the program is refused at that line. A
`UniqueValue` has a hash and is equal to itself as well.
"""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.strings import discarded
from dynamo_lite.tracing.strings.deferred_str import UniqueText, unread


class Unrecordable:
    """The result of `function`; `refuse(function)` raises. `is_dropped()`: a string is made that is discarded."""

    __slots__ = ("_function", "_is_dropped", "_refuse")

    def __init__(
        self, function: str, refuse: Callable[[str], None], is_dropped: Callable[[], bool] = lambda: False
    ) -> None:
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_refuse", refuse)
        object.__setattr__(self, "_is_dropped", is_dropped)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocol probes (hasattr(x, "__array__")) are not uses of the value
            raise AttributeError(name)
        return _another(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`(now() - start).total_seconds()`; an object of the program's that was drawn may do anything."""
        return _used(self) if draws_object(self) else _another(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch calls this when an operator is given an `Unrecordable`."""
        for value in (*args, *(kwargs or {}).values()):
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if type(item) is cls:
                    return _used(item)
        return NotImplemented


def _used(self: Any, *args: Any) -> Any:
    self._refuse(self._function)


def _another(self: Any, *args: Any) -> Any:
    return Unrecordable(self._function, self._refuse, self._is_dropped)


def _text(self: Any, *args: Any) -> str:
    """A text that is refused where it is read; any will do in one that is discarded."""
    return "..." if self._is_dropped() else unread("...", partial(_used, self))


def _in_text(instead: Any) -> Callable[..., Any]:
    """Return a method that makes a text of the value, or a number that `"%.2f" % value` formats: any will do in a
    string that is discarded."""

    def use(self: Any, *args: Any) -> Any:
        return instead if self._is_dropped() else _used(self)

    return use


_ARITHMETIC = "add sub mul truediv floordiv mod pow"
_COMPARISONS = "eq ne lt le gt ge getitem"
_PROPAGATES = (
    f"{_ARITHMETIC} {' '.join('r' + name for name in _ARITHMETIC.split())} {_COMPARISONS} neg pos abs round".split()
)
_USES = (
    "bool complex hash len iter contains array setitem "
    "delitem next reversed matmul rmatmul divmod rdivmod invert trunc floor ceil enter exit "
    "and rand or ror xor rxor lshift rlshift rshift rrshift"
)
_DRAW_OBJECTS = ("choice", "choices", "sample")
"""Functions whose results are the program's own objects."""

for _name in _PROPAGATES:
    setattr(Unrecordable, f"__{_name}__", _another)
for _name in _USES.split():
    setattr(Unrecordable, f"__{_name}__", _used)
for _name, _number in {"int": 0, "index": 0, "float": 0.0}.items():
    setattr(Unrecordable, f"__{_name}__", _in_text(_number))
for _name in ("str", "repr", "format"):
    setattr(Unrecordable, f"__{_name}__", _text)


def draws_object(value: Unrecordable) -> bool:
    """Whether it may represent an object of the program's."""
    return unrecordable_function(value).rpartition(".")[2] in _DRAW_OBJECTS


def refuse_use(value: Unrecordable | UniqueText) -> Any:
    """Raises what ends the trace: the value gets out of the program."""
    if isinstance(value, UniqueText):
        value.read()
    else:
        _used(value)


def unrecordable_function(value: Unrecordable) -> str:
    """Return the function whose result `value` represents."""
    return str(object.__getattribute__(value, "_function"))


def unrecordable(tracer: TracerView, name: str) -> Unrecordable:
    """Return a value for the result of `name`: refused if it is used, except in a string that is discarded."""
    return Unrecordable(name, partial(_refuse, tracer), partial(in_dropped_text, tracer))


def in_dropped_text(tracer: TracerView) -> bool:
    """Whether a text that is being made is discarded. If it is not, the tracer looks who reads it."""
    if discarded.is_dropped(tracer):
        return True
    if "texts" not in tracer.plans.awake:
        tracer.plans.wake("texts")
    return False


def _refuse(tracer: TracerView, function: str) -> None:
    if not tracer.vm.retired:  # after the run, the text of the program's own error may show the value
        tracer.refuse("unrecordable-value", function=function)


def is_about_one(error: BaseException) -> bool:
    """Whether C code that wants a number raises that it got an `Unrecordable`: eager does not raise that."""
    return type(error) is TypeError and any(name in str(part) for part in error.args for name in _NAMES)


class UniqueValue(Unrecordable):
    """A replacement for `value`, which differs from call to call: it is equal to itself."""

    __slots__ = ("_value",)

    def __init__(
        self, value: Any, function: str, refuse: Callable[[str], None], is_dropped: Callable[[], bool]
    ) -> None:
        super().__init__(function, refuse, is_dropped)
        object.__setattr__(self, "_value", value)

    def __hash__(self) -> int:
        return hash(unique_value(self))

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, UniqueValue):
            return bool(unique_value(self) == unique_value(other))
        if isinstance(other, (int, uuid.UUID)):
            self._refuse(self._function)  # one that is known from elsewhere
        return NotImplemented

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __str__(self) -> str:
        return unique_text(self, str(unique_value(self)))

    def __repr__(self) -> str:
        return unique_text(self, repr(unique_value(self)))

    def __format__(self, spec: str) -> str:
        return unique_text(self, format(unique_value(self), spec))


def unique_value(unique: UniqueValue) -> Any:
    """Return the value itself."""
    return object.__getattribute__(unique, "_value")


def unique_text(unique: UniqueValue, text: str) -> str:
    """A text that is made of the value."""
    unique._is_dropped()  # if not, the tracer looks who reads it
    return UniqueText.made_of(text, partial(unique._refuse, unique._function))


_SAMPLES = (0, 0.5, "", b"", time.localtime(0), *((now := datetime.datetime(2000, 1, 1)), now.date(), now - now))


_NAMES = (Unrecordable.__name__, UniqueValue.__name__)


def class_of(value: Unrecordable) -> type:
    """The class that a value has in eager; refuses one of which that is not known."""
    return type(unique_value(value)) if isinstance(value, UniqueValue) else refuse_use(value)


def is_instance(value: Unrecordable, classes: Any) -> bool:
    """The same of isinstance(value, classes), which no class of a clock's or a generator's results may answer alone."""
    if isinstance(value, UniqueValue):
        return isinstance(unique_value(value), classes)
    if type(value) is not Unrecordable or draws_object(value):
        return refuse_use(value)
    answers = {isinstance(sample, classes) for sample in _SAMPLES}
    return answers.pop() if len(answers) == 1 else refuse_use(value)
