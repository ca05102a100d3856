"""The autocast regions of a program, and the parameters that autocast has cast and keeps: where its cache shows.

Within the outermost autocast region eager casts a float32 leaf that has requires_grad once, and uses the cast until
the region ends (cached_cast in aten/src/ATen/autocast_mode.cpp), whatever happens to the leaf. The recorded program
casts at each use, which is the same unless the leaf is changed in between, or an inner region has another dtype.
Checked with torch 2.13.0.

A recording that keeps autograd's graph (`backward()` in the program) has no regions: autocast's kernels run, and their
casts are recorded as operators, since autograd goes through them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch

from dynamo_lite.capture._torch import OpOverload, _enter_autocast, _exit_autocast
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.torch_internals._torch_dispatch import DispatchKey, _dispatch_has_kernel_for_dispatch_key


class AutocastRegions:
    """The autocast regions that the program is in now, of one recording.

    cache: within a region; the program's own casts are not kept.
    """

    def __init__(self, recorder: OperatorRecording) -> None:
        self._recorder = recorder
        self._depth = 0
        self.cache: AutocastCache | None = None

    def enter(self, args: tuple[Any, ...]) -> None:
        """The program enters an autocast region."""
        recorder = self._recorder
        has_casts = recorder.memory is Memory.AUTOGRAD  # each cast is an operator of the program (`casting_key`)
        marker = None if has_casts else recorder.marker(_enter_autocast, (*args[:3], False))
        recorder.level.autocast_nodes.append(marker)
        self._depth += 1
        self.cache = self.cache or AutocastCache()

    def exit(self) -> None:
        """The program leaves the innermost autocast region."""
        recorder = self._recorder
        if not recorder.level.autocast_nodes:
            why = "an autocast region ends in it that begins elsewhere"
            text, hint = f"a sub-graph cannot be made: {why}", "enter and leave autocast with one `with` statement"
            recorder.context.refuse(CaptureError("branch-unsupported", text, hint, {"why": why}))
        entered = recorder.level.autocast_nodes.pop()
        if entered is not None:
            recorder.marker(_exit_autocast, (entered,))
        self._depth -= 1
        if not self._depth:
            self.cache = None


class AutocastCache:
    """The contents of eager's cache in one outermost region: the fake tensors of leaves."""

    def __init__(self) -> None:
        self._cast: dict[int, tuple[torch.Tensor, torch.dtype]] = {}
        self._changed: set[int] = set()

    def check(self, func: OpOverload, args: Sequence[Any], written: Iterator[torch.Tensor]) -> None:
        """`func` is about to run. Raises CaptureError where eager would use a cast of an older value."""
        if casts(func) and torch.is_autocast_cache_enabled():
            for tensor in filter(_is_cached, _tensors(args)):
                dtype = torch.get_autocast_dtype(tensor.device.type)
                _, first = self._cast.setdefault(id(tensor), (tensor, dtype))
                if id(tensor) in self._changed or first is not dtype:
                    raise _graph_break(func, "an older value" if first is dtype else f"another dtype, {first}")
        for tensor in written:
            key = storage_key(tensor)
            self._changed.update(id(leaf) for leaf, _ in self._cast.values() if storage_key(leaf) == key)


def _graph_break(func: OpOverload, what: str) -> CaptureError:
    return CaptureError(
        "autocast-cache",
        f"{func} uses a parameter of which autocast keeps a cast of {what}",
        "do so in an autocast region of its own, or give autocast cache_enabled=False",
        {"function": str(func), "what": what},
    )


@cache
def casts(func: OpOverload) -> bool:
    """Whether autocast may cast arguments of `func`, or of an operator that it consists of."""
    return any(_has_kernel(func, key) for _, key in _KEYS) or bool(func._can_decompose())


_KEYS = (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA"))


def casting_key(func: OpOverload) -> DispatchKey | None:
    """The dispatch key of the kernel that casts the arguments of `func`, where autocast is on; None without one."""
    for device, key in _KEYS:
        if torch.is_autocast_enabled(device) and _has_kernel(func, key):
            found: DispatchKey = getattr(DispatchKey, key)
            return found
    return None


@cache
def _has_kernel(func: OpOverload, key: str) -> bool:
    return bool(_dispatch_has_kernel_for_dispatch_key(func.name(), key))


def _is_cached(tensor: torch.Tensor) -> bool:
    if not (tensor.requires_grad and tensor.is_leaf and tensor.dtype is torch.float32):
        return False
    return torch.is_autocast_enabled(tensor.device.type)


def _tensors(args: Sequence[Any]) -> Iterator[torch.Tensor]:
    for arg in args:
        if isinstance(arg, torch.Tensor):
            yield arg
        elif type(arg) is list or type(arg) is tuple:
            yield from (part for part in arg if isinstance(part, torch.Tensor))
