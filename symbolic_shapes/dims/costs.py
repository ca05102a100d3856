"""The freedom that a suggested spec gives up compared with the one that it replaces, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dynamo_lite.symbolic_shapes.dims.specs import Constant, Derived, DimSpec, Named
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended


def costs(table: DimTable, definitions: Mapping[str, DimSpec]) -> list[str]:
    """A sentence for each named dimension that takes fewer sizes with its new definition."""
    promised = {spec.root.name: spec.root for spec in table.specs if isinstance(spec, Derived)}
    promised |= {spec.name: spec for spec in table.specs if isinstance(spec, Named)}
    rows = [(promised[name], spec) for name, spec in definitions.items() if name in promised]
    return [f"{old.name} takes {text}" for old, new in rows if (text := _left(old, new)) is not None]


def _left(old: Named, new: DimSpec) -> str | None:
    """The remaining part of a range: `32 of the 128 sizes that it promises: multiples of 4`. None if it is all."""
    lo: Extended
    hi: Extended
    if isinstance(new, Constant):
        step, lo, hi = 1, new.value, new.value
        which = str(new.value)
    elif isinstance(new, Derived):
        step, lo, hi = new.a, new.a * new.root.lo + new.b, new.a * new.root.hi + new.b
        which = _which(step, new.b)
    elif isinstance(new, Named):
        step, lo, hi, which = 1, new.lo, new.hi, ""
    else:
        return None  # Dim.DYNAMIC and Dim.AUTO: the program's own conditions decide
    lo, hi = max(lo, old.lo, 0), min(hi, old.hi)
    if step > 1:
        lo = lo + (new.b - lo) % step if isinstance(new, Derived) else lo
    below, above = lo > max(old.lo, 0) and step == 1, hi < old.hi
    if old.hi != INF:
        total, count = int(old.hi - max(old.lo, 0) + 1), int((hi - lo) // step + 1)
        if count >= total:
            return None
        return f"{count} of the {total} sizes that it promises: {which or _between(lo, hi, below, above)}"
    if isinstance(new, Constant):
        return f"{which} only"
    parts = [f"{which} only"] if which else []
    parts += [_between(lo, hi, below, above)] if below or above else []
    return ", ".join(parts) or None


def _which(step: int, offset: int) -> str:
    rest = offset % step
    return f"multiples of {step}" if not rest else f"those that leave {rest} when divided by {step}"


def _between(lo: Extended, hi: Extended, below: bool, above: bool) -> str:
    """The ends that move in."""
    parts = [f"no size below {lo}"] if below else []
    return " and ".join(parts + ([f"no size above {hi}"] if above else []))
