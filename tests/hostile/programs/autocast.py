"""Autocast, its cache, and torch's other switches"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.export.probe import Case, equal, raises, refused, t


def cast(dtype: torch.dtype = torch.bfloat16, **options: Any) -> torch.autocast:
    return torch.autocast("cpu", dtype, **options)


class Layer(nn.Module):
    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.register_buffer("b", torch.randn(4, 4))
        self.fc = nn.Linear(4, 4)
        self.outside = cast()
        self._run = run

    def forward(self, x: torch.Tensor) -> Any:
        return self._run(self, x)


def case(run: Callable[..., Any]) -> Case:
    return Case(Layer(run), (t(3, 4),))


# -- the cache ---------------------------------------------------------------------------------------------------------


@equal
def parameter_used_twice():
    def run(m, x):
        with cast():
            return x @ m.w, (x * 2) @ m.w, m.fc(m.fc(x))

    return case(run)


@refused("autocast-cache")
def parameter_changed_between_two_uses():
    def run(m, x):
        with cast():
            y = x @ m.w
            with torch.no_grad():
                m.w.mul_(2)
            return y, x @ m.w

    return case(run)


@refused("autocast-cache")
def data_of_a_parameter_changed_between_two_uses():
    def run(m, x):
        with cast():
            y = x @ m.w
            m.w.data.mul_(2)
            return y, x @ m.w

    return case(run)


@refused("autocast-cache")
def parameter_changed_between_inner_regions():
    def run(m, x):
        with cast():
            with cast():
                y = x @ m.w
            m.w.data.mul_(2)
            with cast():
                return y, x @ m.w

    return case(run)


@equal
def parameter_changed_between_two_regions():
    def run(m, x):
        with cast():
            y = x @ m.w
        m.w.data.mul_(2)
        with cast():
            return y, x @ m.w

    return case(run)


@equal
def parameter_changed_after_its_last_use():
    def run(m, x):
        with cast():
            y = x @ m.w
            m.w.data.mul_(2)
        return y, x @ m.w

    return case(run)


@equal
def parameter_changed_without_a_cache():
    def run(m, x):
        with cast(cache_enabled=False):
            y = x @ m.w
            m.w.data.mul_(2)
            return y, x @ m.w

    return case(run)


@equal
def parameter_changed_in_an_island():
    def run(m, x):
        with cast(enabled=False):
            y = x @ m.w
            m.w.data.mul_(2)
            return y, x @ m.w

    return case(run)


@equal
def buffer_changed_between_two_uses():
    def run(m, x):
        with cast():
            y = x @ m.b
            m.b.mul_(2)
            return y, x @ m.b

    return case(run)


@equal
def frozen_parameter_changed_between_two_uses():
    def run(m, x):
        with cast():
            y = x @ m.w
            m.w.mul_(2)
            return y, x @ m.w

    made = case(run)
    made.program.requires_grad_(False)
    return made


@refused("autocast-cache")
def one_parameter_in_two_dtypes():
    def run(m, x):
        with cast():
            y = x @ m.w
            with cast(torch.float16):
                return y, x @ m.w

    return case(run)


@equal
def two_dtypes_one_after_the_other():
    def run(m, x):
        with cast():
            y = x @ m.w
        with cast(torch.float16):
            return y, x @ m.w

    return case(run)


@equal
def two_dtypes_of_two_parameters():
    def run(m, x):
        with cast():
            y = x @ m.w
            with cast(torch.float16):
                return y, m.fc(x)

    return case(run)


# -- regions -----------------------------------------------------------------------------------------------------------


@equal
def island_in_full_precision():
    def run(m, x):
        with cast(torch.float16):
            y = x @ m.w
            with cast(enabled=False):
                z = y.float() @ m.w
            return y, z, z @ m.w

    return case(run)


@equal
def two_kinds_of_device():
    def run(m, x):
        with torch.autocast("cuda", torch.float16), cast():
            return x @ m.w

    return case(run)


@equal
def gradients_off_inside_and_around():
    def run(m, x):
        with torch.no_grad():
            with cast():
                y = x @ m.w
            z = x @ m.w
        with cast():
            with torch.no_grad():
                u = x @ m.w
            return y, z, u, x @ m.w

    return case(run)


@equal
def entered_and_left_by_hand():
    def run(m, x):
        context = cast()
        context.__enter__()
        y = x @ m.w
        context.__exit__(None, None, None)
        return y, x @ m.w

    return case(run)


@equal
def context_from_outside():
    def run(m, x):
        with m.outside:
            y = x @ m.w
        return y, x @ m.w

    return case(run)


@refused("global-state")
def entered_and_not_left():
    def run(m, x):
        cast().__enter__()
        return x @ m.w

    return case(run)


@refused("global-state")
def entered_disabled_and_not_left():
    def run(m, x):
        cast(enabled=False).__enter__()
        return x @ m.w

    return case(run)


@refused("global-state")
def left_in_another_order():
    def run(m, x):
        outer, inner = cast(), cast(torch.float16)
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        y = x @ m.w
        inner.__exit__(None, None, None)
        return y

    return case(run)


@raises
def entered_and_then_an_exception():
    def run(m, x):
        cast().__enter__()
        raise ValueError("between")

    return case(run)


@equal
def decorator():
    class M(Layer):
        @torch.autocast("cpu", torch.bfloat16)
        def forward(self, x):
            return x @ self.w

    return M(lambda m, x: x), (t(3, 4),)


@equal
def generator_that_is_resumed():
    def run(m, x):
        def parts():
            with cast():
                yield x @ m.w
                yield x @ m.w

        it = parts()
        first, between, second = next(it), x @ m.b, next(it)
        it.close()
        return first, between, second, x @ m.w

    return case(run)


@equal
def left_by_an_exception():
    def run(m, x):
        try:
            with cast():
                y = x @ m.w
                raise ValueError
        except ValueError:
            return y, x @ m.w

    return case(run)


@equal
def left_by_return_in_try():
    def run(m, x):
        try:
            with cast():
                return x @ m.w
        finally:
            m.b.copy_(x.T @ x)

    return case(run)


@equal
def questions():
    def run(m, x):
        with torch.autocast("cpu"):
            on, dtype, cache = (
                torch.is_autocast_enabled("cpu"),
                torch.get_autocast_dtype("cpu"),
                torch.is_autocast_cache_enabled(),
            )
        return x + on, dtype, cache, torch.is_autocast_cache_enabled(), torch.is_autocast_enabled("cpu")

    return case(run)


@equal
def branch_of_cond():
    def run(m, x):
        with cast():
            return torch.cond(x.sum() > 0, lambda y: y @ m.w, lambda y: y @ m.b, (x,))

    return case(run)


class Scaled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        return g, None


class Full(Scaled):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        return x @ w


@equal
def custom_forward():
    def run(m, x):
        with cast():
            return Scaled.apply(x, m.b)

    return case(run)


@equal
def custom_forward_that_casts():
    def run(m, x):
        with cast():
            return Full.apply(x.bfloat16(), m.b), x @ m.b

    return case(run)


# -- settings ----------------------------------------------------------------------------------------------------------


@refused("process-state")
def autocast_switched_on():
    def run(m, x):
        torch.set_autocast_enabled("cpu", True)
        y = x @ m.w
        torch.set_autocast_enabled("cpu", False)
        return y

    return case(run)


@equal
def autocast_dtype_set_for_a_region():
    def run(m, x):
        old = torch.get_autocast_dtype("cpu")
        torch.set_autocast_dtype("cpu", torch.float16)
        with torch.autocast("cpu"):
            y = x @ m.w
        torch.set_autocast_dtype("cpu", old)
        return y

    return case(run)


@refused("process-state")
def autocast_dtype_set_in_a_region():
    def run(m, x):
        with cast():
            y = x @ m.b
            torch.set_autocast_dtype("cpu", torch.float16)
            return y, x @ m.b

    return case(run)


LEFT: dict[str, Callable[[], Any]] = {
    "autocast_dtype": lambda: torch.set_autocast_dtype("cpu", torch.float16),
    "autocast_cache": lambda: torch.set_autocast_cache_enabled(False),
    "autocast_nesting": lambda: torch.autocast_increment_nesting() and None,
    "gradients": lambda: torch.no_grad().__enter__(),
    "determinism": lambda: torch.use_deterministic_algorithms(True),
    "cudnn": lambda: torch.backends.cudnn.set_flags(_benchmark=True) and None,  # may be frozen for assignments
    "fast_path": lambda: torch.backends.mha.set_fastpath_enabled(False),
    "attention": lambda: sdpa_kernel(SDPBackend.MATH).__enter__(),
    "anomaly_mode": lambda: torch.autograd.set_detect_anomaly(True) and None,
    "threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "precision": lambda: torch.set_float32_matmul_precision("high"),
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
}


def _left(name: str, change: Callable[[], Any], fails: bool) -> Any:
    def run(m, x):
        change()
        if fails:
            raise ValueError(name)
        return x @ m.w

    def build() -> Case:
        return case(run)

    build.__name__ = f"left_changed_{name}"
    return raises(build) if fails else refused("global-state", "process-state")(build)


globals().update(
    {f"left_{name}": _left(name, change, fails=False) for name, change in LEFT.items()}
    | {f"failed_{name}": _left(name, LEFT[name], fails=True) for name in ("autocast_nesting", "gradients", "fast_path")}
)

CONTEXTS: dict[str, Callable[[], Any]] = {
    "inference_mode": torch.inference_mode,
    "device": lambda: torch.device("cpu"),
    "mkldnn": lambda: torch.backends.mkldnn.flags(enabled=False),
    "cudnn": lambda: torch.backends.cudnn.flags(enabled=False, deterministic=True),
    "anomaly_mode": lambda: torch.autograd.set_detect_anomaly(True),
    "saved_tensors": lambda: torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v),
    "attention": lambda: sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True),
}


def _context(name: str, make: Callable[[], Any]) -> Any:
    def run(m, x):
        with make():
            y = F.scaled_dot_product_attention(x[None], x[None], x[None]) + torch.ones(4)
        return y * 1, x @ m.w

    def build() -> Case:
        return case(run)

    build.__name__ = f"context_{name}"
    return equal(build)


globals().update({f"context_{name}": _context(name, make) for name, make in CONTEXTS.items()})
