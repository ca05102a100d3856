"""A tensor class that wraps others, as a quantisation library has: integers with a scale per row."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import return_and_correct_aliasing

_KEPT = (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default)


class Scaled(torch.Tensor):
    """`codes * scale`; `bits` is kept beside the tensors."""

    codes: torch.Tensor
    scale: torch.Tensor
    bits: int

    @staticmethod
    def __new__(cls, codes: torch.Tensor, scale: torch.Tensor, bits: int) -> Any:
        made: Any = torch.Tensor
        return made._make_wrapper_subclass(cls, codes.shape, dtype=scale.dtype, device=codes.device)

    def __init__(self, codes: torch.Tensor, scale: torch.Tensor, bits: int) -> None:
        self.codes, self.scale, self.bits = codes, scale, bits

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["codes", "scale"], {"bits": self.bits}

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, torch.Tensor], context: Any, size: Any, stride: Any) -> Scaled:
        return Scaled(inner["codes"], inner["scale"], context["bits"])

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Scaled({self.bits} bits)"

    def dequantize(self) -> torch.Tensor:
        return self.codes.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _KEPT:
            kept = cls(func(args[0].codes), func(args[0].scale), args[0].bits)
            return return_and_correct_aliasing(func, args, kwargs, kept)
        args, kwargs = pytree.tree_map_only(Scaled, Scaled.dequantize, (args, kwargs))
        return func(*args, **kwargs)


def scaled(rows: int, columns: int, bits: int = 8) -> Scaled:
    """A random one."""
    codes = torch.randint(-128, 127, (rows, columns), dtype=torch.int8)
    return Scaled(codes, torch.rand(rows, 1), bits)
