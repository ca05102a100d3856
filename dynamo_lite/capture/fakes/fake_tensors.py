"""FakeTensors made quickly: for the program's tensors, and the snapshots that nodes keep of results.

torch's converter describes a tensor in about 60 fields, to cope with subclasses, views and sparse layouts. A parameter
is nearly always a plain strided tensor that owns its memory; its sizes and strides are sufficient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture._torch import (
    FakeTensor,
    FakeTensorMode,
    TensorMetadata,
    _extract_tensor_metadata,
    fast_detach,
)
from dynamo_lite.capture.fakes import wrapper_subclasses
from dynamo_lite.capture.fakes.fake_mode import meta_of
from dynamo_lite.capture.fakes.subclasses import as_plain
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node._torch_converter import constant_fake
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    _DisablePythonDispatcher,
    _DisableTorchDispatch,
)
from dynamo_lite.torch_internals._torch_fake import device_of, in_kernel, make_fake


def storage_key(tensor: torch.Tensor) -> int:
    """Equal for tensors that share memory, as long as both are alive."""
    if tensor.layout is not torch.strided:
        return id(tensor)  # a sparse tensor has no storage of its own
    return int(tensor.untyped_storage()._cdata)


class FakeFactory:
    """Creates the fake tensors of one recording."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self._mode = fake_mode
        self._shared: set[int] = set()
        self._kept: list[torch.Tensor] = []
        self._others: dict[int, FakeTensor] = {}  # fake tensors of another mode that have one here, by their memory
        self._snapshots: dict[Any, tuple[torch.Tensor, Any]] = {}

    def expect(self, tensors: Iterable[torch.Tensor]) -> None:
        """Announces tensors together: those that share memory get fake tensors that share memory."""
        counts = Counter(storage_key(t) for t in tensors if type(t) in PLAIN)
        self._shared.update(key for key, count in counts.items() if count > 1)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor for a real tensor or a FakeTensor of another mode; one of this mode is returned unchanged."""
        if isinstance(tensor, FakeTensor):
            return tensor if tensor.fake_mode is self._mode else self._of_another(tensor)
        if wrapper_subclasses.is_wrapper(tensor):
            return wrapper_subclasses.fake(tensor, self.of)
        if not self._is_simple(tensor):
            return self._of_any(tensor)
        return _fake_like(tensor, self._mode)

    def is_whole(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is plain and covers all of its memory, shared with none of those announced: its sizes and
        strides determine the fake tensor."""
        if not self._is_simple(tensor) or not tensor.is_contiguous() or tensor.is_inference():
            return False
        return tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()

    def like_real(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor for a tensor that `is_whole`."""
        return _fake_like(tensor, self._mode)

    def meta_of(self, tensor: FakeTensor) -> torch.Tensor:
        """A meta tensor that looks like a FakeTensor of another mode. InvalidArguments if two share memory."""
        if self._others.setdefault(storage_key(tensor), tensor) is not tensor:
            raise InvalidArguments("two FakeTensors that share memory have no symbols: give real or meta tensors")
        return meta_of(tensor)

    def _of_another(self, tensor: FakeTensor) -> torch.Tensor:
        fake = FakeTensor(self._mode, self.meta_of(tensor).detach(), tensor.fake_device)
        fake.requires_grad_(tensor.requires_grad)
        fake._is_param = isinstance(tensor, nn.Parameter)
        return fake

    def _of_any(self, tensor: torch.Tensor) -> torch.Tensor:
        plain = as_plain(tensor)
        fake = in_whole_memory(constant_fake(self._mode, plain), plain)
        if plain is not tensor:
            self._kept.append(plain)  # the converter forgets tensors that have died
            fake._is_param = isinstance(tensor, nn.Parameter)
        return fake

    def like(self, tensor: FakeTensor) -> torch.Tensor:
        """A fake tensor of this recording with the metadata of one of another recording."""
        meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
        return make_fake(self._mode, meta, tensor.fake_device)

    def _is_simple(self, tensor: torch.Tensor) -> bool:
        return (
            type(tensor) in PLAIN
            and tensor.layout is torch.strided
            and tensor._base is None
            and tensor.is_leaf
            and tensor.storage_offset() == 0
            and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized)
            and storage_key(tensor) not in self._shared
        )

    def snapshot(self, tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """The metadata that a node keeps of its result: (val, tensor_meta), detached. Equal results share one.

        Operators may change the result itself later, in place and in shape: hence a snapshot.
        """
        if not isinstance(tensor, FakeTensor):
            return self._wrapper_snapshot(tensor), _extract_tensor_metadata(tensor)
        if tensor.layout is not torch.strided or type(tensor) is not FakeTensor:
            return fast_detach(tensor.fake_mode, tensor), _extract_tensor_metadata(tensor)
        layout: Any = (tensor.shape, tensor.stride(), tensor.storage_offset())
        if tensor._has_symbolic_sizes_strides:
            layout = tuple(map(_hashable, layout))
        key = (layout, tensor.dtype, device_of(tensor), tensor.requires_grad, tensor.is_conj(), tensor.is_neg())
        known = self._snapshots.get(key)
        if known is None:
            if isinstance(self._mode.shape_env, TorchShapeEnv):
                self._mode.shape_env.note_sizes(tensor.shape)
            with self._no_guards():
                known = self._snapshots[key] = _detached(tensor), metadata_of(tensor)
        return known

    def input_snapshot(self, tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """The same for a placeholder: a tensor of its own, which a later trace of the program passes in."""
        with self._no_guards():
            if type(tensor) is FakeTensor and tensor.layout is torch.strided:
                return _detached(tensor, tensor.requires_grad), metadata_of(tensor)
            val = self._detached(tensor) if isinstance(tensor, FakeTensor) else self._wrapper_snapshot(tensor)
            val.requires_grad_(tensor.requires_grad)
            return val, _extract_tensor_metadata(tensor)

    def _wrapper_snapshot(self, tensor: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), DisableTorchFunction():
            return wrapper_subclasses.rebuilt(tensor, self._detached)

    def _detached(self, tensor: torch.Tensor) -> torch.Tensor:
        assert isinstance(tensor, FakeTensor)
        return fast_detach(tensor.fake_mode, tensor)

    def _no_guards(self) -> AbstractContextManager[Any]:
        """Size comparisons made by snapshots are not the program's."""
        env = self._mode.shape_env
        return nullcontext() if env is None else env.suppress_guards()


def _detached(tensor: FakeTensor, requires_grad: bool = False) -> FakeTensor:
    """As fast_detach, without torch's constructor of FakeTensors."""
    with _DisablePythonDispatcher():
        meta = in_kernel(tensor.fake_mode, _DETACH, tensor)
    return make_fake(tensor.fake_mode, meta, device_of(tensor), requires_grad)


_DETACH = torch.ops.aten.detach.default


def metadata_of(tensor: FakeTensor) -> TensorMetadata:
    """The value of node.meta["tensor_meta"] for a strided tensor.

    torch checks three memory formats, symbol by symbol; a tensor whose strides are the products of its sizes has the
    first.
    """
    with DisableTorchFunction():  # within sub-graphs, the question would be the program's
        shape, stride = tensor.shape, tensor.stride()
        if tensor.is_quantized:
            return _extract_tensor_metadata(tensor)
        if not _is_contiguous(shape, stride):
            example = _of_example(tensor) if tensor._has_symbolic_sizes_strides else tensor
            found: TensorMetadata = _extract_tensor_metadata(tensor if example is None else example)
            return found._replace(shape=shape, stride=stride, requires_grad=tensor.requires_grad)
    return TensorMetadata(shape, tensor.dtype, tensor.requires_grad, stride, torch.contiguous_format, False, {})


def _of_example(tensor: FakeTensor) -> torch.Tensor | None:
    """A tensor of the example's sizes and strides; None if a size has no value.

    For a symbolic one, torch finds the memory format relation by relation, each decided as for the example: a proved
    relation holds for it, that of large sizes is used only if the example agrees, the others are evaluated.
    """
    env = tensor.fake_mode.shape_env
    if not isinstance(env, TorchShapeEnv):
        return None
    numbers = [n if type(n) is int else env.hint_of(env.unwrap(n)) for n in (*tensor.shape, *tensor.stride())]
    if None in numbers:
        return None
    rank = tensor.dim()
    with _DisableTorchDispatch():
        return torch.empty_strided(numbers[:rank], numbers[rank:], dtype=tensor.dtype, device="meta")


def _is_contiguous(shape: Sequence[Any], stride: Sequence[Any]) -> bool:
    """Whether the strides are the products of the sizes, whatever those are."""
    step: Any = 1
    for size, found in zip(reversed(shape), reversed(stride)):
        found, size = _core(found), _core(size)
        if found is None or size is None or (found is not step and (type(found) is not int or found != step)):
            return False
        step = step * size
    return True


def _core(value: Any) -> Any:
    """A size as a number or an expression of ours; None for a symbol of torch's own."""
    if type(value) is int:
        return value
    core = getattr(value.node, "core", None)
    return core if core is None or core.terms else core.const


def _hashable(value: Any) -> Any:
    """Sizes and strides as a key: symbolic ones by their interned node."""
    if isinstance(value, tuple):
        return tuple([item if type(item) is int else _hashable(item) for item in value])
    return value.node if isinstance(value, torch.SymInt) else value


def in_whole_memory(fake: FakeTensor, tensor: torch.Tensor) -> FakeTensor:
    """`fake`, with memory as large as that of `tensor`: torch's converter allocates only the part that it covers."""
    if tensor.layout is torch.strided and fake.layout is torch.strided:
        nbytes = tensor.untyped_storage().nbytes()
        if nbytes > _end_in_memory(tensor):
            fake.untyped_storage().resize_(nbytes)
    return fake


def _end_in_memory(tensor: torch.Tensor) -> Any:
    """The byte of its storage at which a tensor ends."""
    if not tensor.numel():
        return 0
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
    return (tensor.storage_offset() + last + 1) * tensor.dtype.itemsize


PLAIN = (torch.Tensor, nn.Parameter, nn.Buffer)


def _fake_like(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    fake = make_fake(mode, meta, tensor.device, tensor.requires_grad)
    if isinstance(tensor, nn.Parameter):
        fake._is_param = True
    return fake
