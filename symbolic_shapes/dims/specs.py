"""The specifications of one input dimension, read from torch.export's own objects without importing torch.

| the user writes                         | here                        | the size                                    |
|-----------------------------------------|-----------------------------|---------------------------------------------|
| nothing, `None`, `Dim.STATIC`           | `Static()`                  | is the example's                            |
| `5`                                     | `Constant(5)`               | is 5                                        |
| `Dim.AUTO`, `Dim.AUTO(min=, max=)`      | `Auto(lo, hi)`              | may vary, as far as the program lets it     |
| `Dim.DYNAMIC`, `Dim.DYNAMIC(min=, ...)` | `Dynamic(lo, hi)`           | must vary; its range and relations are found|
| `Dim("b", min=2, max=64)`               | `Named("b", 2, 64)`         | takes every value of the range, on its own  |
| `2*b + 1`                               | `Derived(Named("b"), 2, 1)` | follows b                                   |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamo_lite.symbolic_shapes.errors import ShapeError
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended

LARGEST = 2**63 - 2
"""The largest bound that a derived torch Dim may have (`sys.maxsize - 1`, torch/export/dynamic_shapes.py)."""


class InvalidSpec(ShapeError):
    """A dimension was given a value that is not a spec, or specs that do not fit the example or each other."""


@dataclass(frozen=True)
class Constant:
    """One size."""

    value: int

    def to_python(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Hint:
    """Common to Static, Auto and Dynamic."""

    lo: Extended = -INF
    hi: Extended = INF

    def to_python(self) -> str:
        bounds = bounds_text(self.lo, self.hi)
        return f"Dim.{type(self).__name__.upper()}" + (f"({bounds})" if bounds else "")


class Static(Hint):
    """The size of the example, which must be within the bounds."""


class Auto(Hint):
    """Dynamic if the program allows it."""


class Dynamic(Hint):
    """Dynamic; an error if the program needs one size."""


@dataclass(frozen=True)
class Named:
    """A dimension with a name: all that share it have one size, and every size of [lo, hi] is to be admitted."""

    name: str
    lo: Extended = 0
    hi: Extended = INF

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InvalidSpec(f"a Dim is named by an identifier, not {self.name!r}")
        if not self.lo < self.hi:
            raise InvalidSpec(f"Dim {self.name} has no range: min={self.lo}, max={self.hi}")

    def to_python(self) -> str:
        bounds = bounds_text(self.lo, self.hi)
        return f"Dim('{self.name}', {bounds})" if bounds else f"Dim('{self.name}')"


@dataclass(frozen=True)
class Derived:
    """a * root + b, with a >= 1."""

    root: Named
    a: int
    b: int

    def __post_init__(self) -> None:
        if self.a < 1:
            raise InvalidSpec(f"a derived Dim is an increasing function of its root, not {self.a}*{self.root.name}")
        if self.a * self.root.lo + self.b < 0:
            raise InvalidSpec(f"{self.to_python()} is negative for {self.root.name} = {self.root.lo}")
        if self.root.hi != INF and self.a * self.root.hi + self.b > LARGEST:
            raise InvalidSpec(f"{self.to_python()} is more than {LARGEST} for {self.root.name} = {self.root.hi}")

    def to_python(self) -> str:
        scaled = self.root.name if self.a == 1 else f"{self.a}*{self.root.name}"
        return scaled if not self.b else f"{scaled} {'+' if self.b > 0 else '-'} {abs(self.b)}"


DimSpec = Static | Constant | Auto | Dynamic | Named | Derived


def bounds_text(lo: Extended, hi: Extended) -> str:
    """`min=2, max=64`; an end that is the default (no lower than 0, no upper) is left out."""
    parts = [f"min={lo}"] if lo not in (-INF, 0) else []
    return ", ".join(parts + ([f"max={hi}"] if hi != INF else []))


def as_spec(given: Any) -> DimSpec:
    """The spec for a user's object. InvalidSpec if it is not one.

    torch.export.Dim objects are recognized by attributes (torch/export/dynamic_shapes.py, checked with 2.13.0): hints
    have a `type` with a name, derived ones `root` and `fn`, the static one `value`, others `__name__`, `min`, `max`.
    """
    if given is None:
        return Static()
    if isinstance(given, Constant | Hint | Named | Derived):
        return given  # type: ignore[return-value]
    if isinstance(given, int) and not isinstance(given, bool):
        return Constant(given)
    hint = HINTS.get(getattr(getattr(given, "type", None), "name", ""))
    if hint is not None:
        return hint(_end(given.min, -INF), _end(given.max, INF))
    if callable(getattr(given, "fn", None)) and hasattr(given, "root"):
        return _derived(given)
    name = getattr(given, "__name__", None)
    if isinstance(name, str) and not isinstance(given, type) and hasattr(given, "min") and hasattr(given, "max"):
        if hasattr(given, "value"):
            return Constant(given.value)
        return Named(name, _end(given.min, 0), _end(given.max, INF))
    raise InvalidSpec(f"{given!r} ({type(given).__name__}) does not specify a dimension: give None, an int, "
                      "Dim.AUTO, Dim.DYNAMIC, Dim.STATIC, a Dim('name') or a*Dim('name') + b")


HINTS: dict[str, type[Auto] | type[Dynamic] | type[Static]] = {"AUTO": Auto, "DYNAMIC": Dynamic, "STATIC": Static}


def _derived(given: Any) -> Derived:
    root = as_spec(given.root)
    if not isinstance(root, Named):
        raise InvalidSpec(f"{given!r} is derived from {given.root!r}, which is not a named Dim")
    b = int(given.fn(0))
    a = int(given.fn(1)) - b
    if any(int(given.fn(x)) != a * x + b for x in (2, 3, 1000)):
        raise InvalidSpec(f"{given!r} is not of the form a*{root.name} + b")
    return Derived(root, a, b)


def _end(value: Any, default: Extended) -> Extended:
    """A bound as an int, or an infinity (torch's own infinity compares with integers, and is not a float)."""
    if value is None:
        return default
    if isinstance(value, int):
        return value
    return INF if value > LARGEST else -INF if value < -LARGEST else int(value)
