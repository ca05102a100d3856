"""torch's process-wide switches: their values before the run, whether the run changed them, and their restoration.

Checked against torch 2.13.0.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch

from dynamo_lite.torch_internals._torch_dispatch import (
    _C,
    _len_torch_function_stack,
)
from dynamo_lite.torch_internals._torch_state import (
    _GLOBAL_DEVICE_CONTEXT,
    _get_fp32_precision_getter,
    _get_sdp_priority_order,
    _set_deterministic_algorithms,
    _set_fp32_precision_setter,
    _set_grad_enabled,
    _set_sdp_priority_order,
)


def _autocast_nesting() -> int:
    """How many autocast contexts are open."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _set_autocast_nesting(depth: int) -> None:
    while (now := _autocast_nesting()) != depth:
        torch.autocast_decrement_nesting() if now > depth else torch.autocast_increment_nesting()
    if not depth:
        torch.clear_autocast_cache()


class Switch(NamedTuple):
    """One global setting: its name for people, how to read it, how to set it."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


def _attribute(name: str, owner: Any, attribute: str) -> Switch:
    return Switch(name, lambda: getattr(owner, attribute), lambda v: setattr(owner, attribute, v))


def _attribute_of_wrapped(name: str, owner: Any, attribute: str) -> Switch:
    """An attribute of a module that stands before another (torch.backends.PropModule): its own, else the other's. Read
    from the dicts: the class's __getattr__ takes 1.5 µs."""
    own, inner = vars(owner), vars(owner).get("m")
    if inner is None or hasattr(type(owner), attribute) or attribute not in vars(inner):
        return _attribute(name, owner, attribute)
    behind = vars(inner)
    return Switch(
        name, lambda: own[attribute] if attribute in own else behind[attribute], lambda v: setattr(owner, attribute, v)
    )


_CPU = torch.device("cpu")


def default_device() -> torch.device:
    """Return torch.get_default_device(), in a tenth of its time if none is set."""
    if _len_torch_function_stack() or getattr(_GLOBAL_DEVICE_CONTEXT, "device_context", None) is not None:
        return torch.get_default_device()
    return _CPU


def _autocast(device: str) -> list[Switch]:
    return [
        Switch(
            f"autocast for {device}",
            lambda: torch.is_autocast_enabled(device),
            lambda v: torch.set_autocast_enabled(device, v),
        ),
        Switch(
            f"the autocast dtype for {device}",
            lambda: torch.get_autocast_dtype(device),
            lambda v: torch.set_autocast_dtype(device, v),
        ),
    ]


def _backend_switches() -> Iterator[Switch]:
    """Yield the settings of torch.backends, by the functions of torch._C behind it: name → (getter, setter)."""
    for name, (getter, setter) in _BACKENDS.items():
        if hasattr(_C, getter) and hasattr(_C, setter):
            yield _older(name, getattr(_C, getter), getattr(_C, setter))


_MIXED = "set by fp32_precision alone"


def _older(name: str, read: Callable[[], Any], write: Callable[[Any], Any]) -> Switch:
    """A switch that torch cannot read any more (a RuntimeError) once the program has set what replaces it, a
    `fp32_precision` of torch.backends, otherwise (aten/src/ATen/Context.cpp)."""

    def reads() -> Any:
        try:
            return read()
        except RuntimeError:
            return _MIXED

    return Switch(name, reads, lambda value: None if value == _MIXED else write(value))


def _precisions() -> Iterator[Switch]:
    """torch.backends.fp32_precision, torch.backends.cuda.matmul.fp32_precision, ...: the general ones first, which the
    others follow if they are "none". If all of them are "none", the precision is "ieee"."""
    for backend, operations in _PRECISIONS.items():
        for operation in operations:
            name = f"the float32 precision of {backend} {operation}"
            yield Switch(name, partial(_precision, backend, operation), partial(_put_precision, backend, operation))


def _precision(backend: str, operation: str) -> str:
    said: str = _get_fp32_precision_getter(backend, operation)
    return "ieee" if said == "none" else said


def _put_precision(backend: str, operation: str, value: str) -> None:
    _set_fp32_precision_setter(backend, operation, value)


_PRECISIONS = {
    "generic": ("all",),
    "cuda": ("all", "matmul", "conv", "rnn"),
    "mkldnn": ("all", "matmul", "conv", "rnn"),
}


_BACKENDS: dict[str, tuple[str, str]] = {
    "torch.backends.cudnn.enabled": ("_get_cudnn_enabled", "_set_cudnn_enabled"),
    "torch.backends.cudnn.benchmark": ("_get_cudnn_benchmark", "_set_cudnn_benchmark"),
    "torch.backends.cudnn.deterministic": ("_get_cudnn_deterministic", "_set_cudnn_deterministic"),
    "torch.backends.mkldnn.enabled": ("_get_mkldnn_enabled", "_set_mkldnn_enabled"),
    "torch.backends.nnpack": ("_get_nnpack_enabled", "_set_nnpack_enabled"),
    "flash attention": ("_get_flash_sdp_enabled", "_set_sdp_use_flash"),
    "memory-efficient attention": ("_get_mem_efficient_sdp_enabled", "_set_sdp_use_mem_efficient"),
    "attention by plain operators": ("_get_math_sdp_enabled", "_set_sdp_use_math"),
    "cudnn attention": ("_get_cudnn_sdp_enabled", "_set_sdp_use_cudnn"),
    "overrideable attention": ("_get_overrideable_sdp_enabled", "_set_sdp_use_overrideable"),
    "torch.backends.cuda.matmul.allow_tf32": ("_get_cublas_allow_tf32", "_set_cublas_allow_tf32"),
    "torch.backends.mkldnn.deterministic": ("_get_mkldnn_deterministic", "_set_mkldnn_deterministic"),
    "torch.backends.cudnn.allow_tf32": ("_get_cudnn_allow_tf32", "_set_cudnn_allow_tf32"),
}


SWITCHES: tuple[Switch, ...] = (
    Switch("grad mode", torch.is_grad_enabled, _set_grad_enabled),
    Switch("the default dtype", torch.get_default_dtype, torch.set_default_dtype),
    *_autocast("cpu"),
    *_autocast("cuda"),
    Switch("the number of open autocast contexts", _autocast_nesting, _set_autocast_nesting),
    Switch("the autocast cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    Switch(
        "deterministic algorithms",
        torch.are_deterministic_algorithms_enabled,
        lambda v: _set_deterministic_algorithms(
            v, warn_only=torch.is_deterministic_algorithms_warn_only_enabled()
        ),
    ),
    Switch("anomaly mode", torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    _attribute("filling of uninitialized memory", torch.utils.deterministic, "fill_uninitialized_memory"),
    _attribute("torch.backends.mha.get_fastpath_enabled()", torch.backends.mha, "_is_fastpath_enabled"),
    _attribute_of_wrapped("torch.backends.opt_einsum.enabled", torch.backends.opt_einsum, "enabled"),
    _attribute_of_wrapped("torch.backends.opt_einsum.strategy", torch.backends.opt_einsum, "strategy"),
    Switch("the order of attention kernels", _get_sdp_priority_order, _set_sdp_priority_order),
    _older("the precision of float32 products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    Switch("the number of threads", torch.get_num_threads, torch.set_num_threads),
    *_backend_switches(),
    *_precisions(),
)


class TorchState:
    """The switches and the random number generators as they were when this was made."""

    def __init__(self) -> None:
        self._before = [switch.read() for switch in SWITCHES]
        self._inference = torch.is_inference_mode_enabled()
        self._rng = torch.get_rng_state()
        self._python_rng = random.getstate()

    def changed(self) -> list[tuple[str, Any, Any]]:
        """(name, before, now) for each switch that differs now."""
        rows = zip(SWITCHES, self._before)
        return [(switch.name, before, now) for switch, before in rows if (now := switch.read()) != before]

    def restore(self) -> None:
        """Put the switches and the generators back."""
        self._put_switches()
        torch.set_rng_state(self._rng)
        random.setstate(self._python_rng)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Open a context with the switches and inference mode as they were when this was made, except for the number of
        threads; the generators continue."""
        with torch.inference_mode(self._inference):
            now = TorchState()
            self._put_switches(without=("the number of threads",))
            try:
                yield
            finally:
                now._put_switches()

    def _put_switches(self, without: tuple[str, ...] = ()) -> None:
        for switch, before in zip(SWITCHES, self._before):
            if switch.name not in without and switch.read() != before:
                switch.write(before)

