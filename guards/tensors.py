"""Guards on tensors: the only file here that uses torch (and imports it only when there is a tensor to look at).

Checked against torch 2.13.0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TensorFacts:
    """The metadata of a tensor that existed before the trace. Sizes and strides that are None are not checked.

    `keys` are the dispatch keys (torch._C._dispatch_keys), None if they are not checked. `strides` is None for a layout
    without strides, and if sizes are dynamic: then `contiguous` is whether the tensor is contiguous.
    """

    cls: type
    dtype: Any
    device: Any
    layout: Any
    requires_grad: bool
    sizes: tuple[int | None, ...]
    strides: tuple[int, ...] | None
    keys: Any = None
    contiguous: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether contiguity determines the strides: no dimension has size 1 or 0, where the stride is arbitrary."""
        sizes = [size for size in self.sizes if size is not None]
        if len(sizes) != len(self.sizes) or self.strides is None or min(sizes, default=2) < 2:
            return False
        return all(step == math.prod(sizes[i + 1 :]) for i, step in enumerate(self.strides))

    @property
    def is_of_torch(self) -> bool:
        """Whether the class is torch's own, which answers from the tensor's metadata alone."""
        import torch

        return self.cls in (torch.Tensor, torch.nn.Parameter)

    @property
    def is_static(self) -> bool:
        return None not in self.sizes

    def __str__(self) -> str:
        sizes = ", ".join("*" if size is None else str(size) for size in self.sizes)
        grad = ", requires_grad" if self.requires_grad else ""
        strides = "" if self.strides is None else f", strides {self.strides}"
        if self.contiguous is not None:
            strides = ", contiguous" if self.contiguous else ", not contiguous"
        return f"a {self.cls.__qualname__} {self.dtype} [{sizes}] on {self.device}{strides}{grad}"


def facts_of(tensor: Any, *, dynamic: tuple[int, ...] = (), keys: bool = True) -> TensorFacts:
    """The facts of a tensor as it is; sizes of the dimensions in `dynamic` are left open, and its strides with them."""
    import torch

    from dynamo_lite.guards._torch_dispatch import DisableTorchFunctionSubclass, _dispatch_keys

    with DisableTorchFunctionSubclass():
        # A size that belongs to another environment (a FakeTensor in a program's `meta`) is not evaluated: the result
        # would become a fact in that environment and specialize the size.
        is_known = all(map(_is_int, tensor.shape))
        dynamic = (*dynamic, *(i for i, size in enumerate(tensor.shape) if not _is_int(size)))
        sizes = tuple(None if i in dynamic else int(size) for i, size in enumerate(tensor.shape))
        strided = tensor.layout is torch.strided
        strides = tuple(map(int, tensor.stride())) if strided and not dynamic else None
        return TensorFacts(
            type(tensor),
            tensor.dtype,
            tensor.device,
            tensor.layout,
            bool(tensor.requires_grad),
            sizes,
            strides,
            _dispatch_keys(tensor) if keys else None,
            bool(tensor.is_contiguous()) if strided and dynamic and is_known else None,
        )


def _is_int(size: Any) -> bool:
    return type(size) is int


def difference(value: Any, facts: TensorFacts) -> str:
    """How a value differs from the facts, in words; empty if it does not."""
    from dynamo_lite.guards._torch_dispatch import DisableTorchFunctionSubclass, _dispatch_keys

    if type(value) is not facts.cls:
        return f"a {type(value).__module__}.{type(value).__qualname__}"
    tensor: Any = value
    with DisableTorchFunctionSubclass():
        found: list[tuple[str, Any, Any]] = [
            ("dtype", tensor.dtype, facts.dtype),
            ("device", tensor.device, facts.device),
            ("layout", tensor.layout, facts.layout),
            ("rank", tensor.dim(), len(facts.sizes)),
            ("requires_grad", bool(tensor.requires_grad), facts.requires_grad),
        ]
        for name, now, wanted in found:
            if now != wanted:
                return f"{name} {now}"
        sizes = tuple(tensor.shape)
        if any(wanted is not None and wanted != size for size, wanted in zip(sizes, facts.sizes)):
            return f"sizes {list(sizes)}"
        if facts.strides is not None and tensor.stride() != facts.strides:
            return f"strides {tensor.stride()}"
        if facts.contiguous is not None and tensor.is_contiguous() is not facts.contiguous:
            return f"strides {tensor.stride()}"
        if facts.keys is not None and _dispatch_keys(tensor) != facts.keys:
            return f"dispatch keys {_dispatch_keys(tensor)}"
    return ""


def fails(variable: str, facts: TensorFacts, constant: Any) -> str:
    """Python that is true when the tensor in `variable` differs; `constant(value)` names a constant."""
    import torch

    if not facts.is_of_torch:
        return f"_difference({variable}, {constant(facts)})"
    v = variable
    parts = [f"type({v}) is not {constant(facts.cls)}"]
    rank = len(facts.sizes)
    if facts.is_static:
        parts.append(f"{v}.shape != {constant(torch.Size(facts.sizes))}")  # type: ignore[arg-type]
    else:
        parts.append(f"{v}.dim() != {rank}")
        parts += [f"{v}.shape[{i}] != {size}" for i, size in enumerate(facts.sizes) if size is not None]
    parts.append(f"{v}.dtype is not {constant(facts.dtype)}")
    parts.append(f"not {v}.requires_grad" if facts.requires_grad else f"{v}.requires_grad")
    if facts.strides is not None and facts.is_plain:
        parts.append(f"not {v}.is_contiguous()")
    elif facts.strides is not None:
        parts.append(f"{v}.stride() != {constant(facts.strides)}")
    if facts.contiguous is not None:
        parts.append(f"{v}.is_contiguous() is not {facts.contiguous}")
    is_cpu = facts.device.type == "cpu"
    parts.append(f"not {v}.is_cpu" if is_cpu else f"{v}.device != {constant(facts.device)}")
    if facts.keys is not None:
        parts.append(f"_dispatch_keys({v}) != {constant(facts.keys)}")
    return " or ".join(parts)


def helpers() -> dict[str, Any]:
    """The helpers that the code of `fails` calls. (Guards on Python values need no torch.)"""
    from dynamo_lite.guards._torch_dispatch import _dispatch_keys

    return {"_difference": difference, "_dispatch_keys": _dispatch_keys}
