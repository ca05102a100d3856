"""torch._numpy's functions whose values differ from numpy's: their replacements, and those that are refused.

Checked with torch 2.13, numpy 2.4, by `tests/operators/test_numpy_values.py`: each function of both, on numbers of both
signs, zeros, nan and infinities.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.tracing.vocabulary.type_tests import is_array

Function = Callable[..., Any]


def _arrays() -> Any:
    return sys.modules["torch._numpy"]


def _of_tensor(compute: Function) -> Function:
    """A function of arrays by one of tensors; `out=` is torch._numpy's to fill in."""

    def function(*args: Any, out: Any = None) -> Any:
        arrays = _arrays()
        result = arrays.ndarray(compute(*[arrays.asarray(arg).tensor for arg in args]))
        return result if out is None else arrays.positive(result, out=out)

    return function


def _floating(x: torch.Tensor) -> torch.Tensor:
    """As numpy computes: integers in double precision (those of 8 and 16 bits are refused by their dtype)."""
    return x if x.is_floating_point() or x.is_complex() else x.double()


def _cbrt(x: torch.Tensor) -> torch.Tensor:
    """The real root, of negative numbers too."""
    x = _floating(x)
    return torch.copysign(x.abs().pow(1 / 3), x)


def _fix(x: torch.Tensor) -> torch.Tensor:
    """Towards zero; torch._numpy rounds to the nearest."""
    return torch.trunc(x)


def _sign(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.isnan(), x, torch.sign(x)) if x.is_floating_point() else torch.sgn(x)


def _heaviside(x: torch.Tensor, at_zero: torch.Tensor) -> torch.Tensor:
    common = torch.result_type(x, at_zero)
    x, at_zero = _floating(x.to(common)), _floating(at_zero.to(common))
    return torch.where(x.isnan(), x, torch.heaviside(x, at_zero))


def _ascontiguousarray(array: Any, dtype: Any = None) -> Any:
    """torch._numpy's gives its argument another tensor."""
    arrays = _arrays()
    return arrays.ascontiguousarray(arrays.ndarray(arrays.asarray(array).tensor), dtype)


INSTEAD: dict[str, Function] = {
    "cbrt": _of_tensor(_cbrt),
    "fix": _of_tensor(_fix),
    "sign": _of_tensor(_sign),
    "heaviside": _of_tensor(_heaviside),
    "ascontiguousarray": _ascontiguousarray,
}
"""Name of a function of numpy → the function that is called instead of torch._numpy's."""


def _decimals(array: Any, decimals: Any = 0, *_: Any, **__: Any) -> str | None:
    whole = is_array(array) and not (array.tensor.is_floating_point() or array.tensor.is_complex())
    return "with negative decimals of whole numbers" if whole and decimals != 0 else None


def _nan_is_one_value(array: Any, *_: Any, **__: Any) -> str | None:
    may_be = is_array(array) and (array.tensor.is_floating_point() or array.tensor.is_complex())
    return "of floats, where nan is one value, the last" if may_be else None


def _real(array: Any, *_: Any, **__: Any) -> str | None:
    return "of real numbers, where -0.0 has an angle" if is_array(array) and array.tensor.is_floating_point() else None


_REFUSED: dict[str, Callable[..., str | None]] = {
    "round": _decimals,
    "around": _decimals,
    "round_": _decimals,
    "unique": _nan_is_one_value,
    "angle": _real,
}


def refused(reference: Any, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """Why torch._numpy's function for numpy's `reference` is not taken for these arguments; None if it is."""
    differs = _REFUSED.get(getattr(reference, "__name__", ""))
    return differs(*args, **kwargs) if differs is not None and args else None
