"""The members of a class, read past definitions of a metaclass under the same names (`__mro__`, `__dict__`)."""

from __future__ import annotations

from typing import Any, Final

mro_of: Final[Any] = type.__dict__["__mro__"].__get__
namespace_of: Final[Any] = type.__dict__["__dict__"].__get__
flags_of: Final[Any] = type.__dict__["__flags__"].__get__
