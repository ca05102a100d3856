"""Dimensions that the user marked on the tensors themselves, by torch._dynamo.mark_dynamic and its relatives.

torch.export uses marks only if dynamic_shapes specifies nothing at all (torch/export/dynamic_shapes.py,
`_process_dynamic_shapes`, removes them otherwise); so do we, and the tensors keep theirs. The attributes are those of
torch/_dynamo/decorators.py, 2.13.0: mark_static counts less than mark_dynamic, that less than mark_unbacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.dims.specs import Auto, Dynamic
from dynamo_lite.symbolic_shapes.expressions.expr import INF

_MARKS = (
    "_dynamo_weak_dynamic_indices",
    "_dynamo_dynamic_indices",
    "_dynamo_unbacked_indices",
    "_dynamo_strict_unbacked_indices",
)


@dataclass(frozen=True)
class Unbacked:
    """A dimension whose size in the example may decide nothing. Those with one `shape_id` have one size."""

    lo: int = 0
    hi: Any = INF
    shape_id: str | None = None


def marks_of(tensor: torch.Tensor) -> dict[int, Auto | Dynamic | Unbacked]:
    """The specs by marks of each dimension that is not static."""
    weak, dynamic, unbacked, strict = (set(getattr(tensor, name, ())) for name in _MARKS)
    ranges = {r.dim: r for r in getattr(tensor, "_dynamo_dynamic_range", ())}
    specs: dict[int, Auto | Dynamic | Unbacked] = {}
    for dim in sorted(weak - set(getattr(tensor, "_dynamo_static_indices", ()))):
        specs[_normal(dim, tensor)] = Auto()
    for dim in sorted(dynamic):
        given = ranges.get(dim)
        lo, hi = (given.min, given.max) if given is not None else (None, None)
        specs[_normal(dim, tensor)] = Dynamic(-INF if lo is None else lo, INF if hi is None else hi)
    bounds, shapes = getattr(tensor, "_dynamo_unbacked_bounds", {}), getattr(tensor, "_dynamo_shape_ids", {})
    for dim in sorted(unbacked | strict):
        lo, hi = bounds.get(dim, (None, None))
        specs[_normal(dim, tensor)] = Unbacked(lo or 0, INF if hi is None else hi, shapes.get(dim))
    return specs


def _normal(dim: int, tensor: torch.Tensor) -> int:
    return dim + tensor.dim() if dim < 0 else dim
