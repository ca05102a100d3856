"""torch's switches: grad mode, autocast, default dtype and device, generators."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.overrides import (
    TorchFunctionMode,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from torch.utils._python_dispatch import TorchDispatchMode

from ..probe import equal, refused, sound, t


class Net(nn.Module):
    """A linear layer whose weights need gradients."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)


@equal
def no_grad_region():
    class M(Net):
        def forward(self, x):
            with torch.no_grad():
                y = self.lin(x)
            return y, self.lin(x) * y, torch.is_grad_enabled()

    return M(), (t(2, 3),)


@equal
def no_grad_decorator():
    class M(Net):
        @torch.no_grad()
        def target(self, x):
            return self.lin(x)

        def forward(self, x):
            return self.lin(x) - self.target(x), self.target(x)

    return M(), (t(2, 3),)


@equal
def forward_decorated_with_no_grad():
    class M(Net):
        @torch.no_grad()
        def forward(self, x):
            return self.lin(x)

    return M(), (t(2, 3),)


@equal
def enable_grad_inside_no_grad():
    class M(Net):
        def forward(self, x):
            with torch.no_grad():
                a = self.lin(x)
                with torch.enable_grad():
                    b = self.lin(x)
                c = self.lin(x)
            return a, b, c

    return M(), (t(2, 3),)


@equal
def set_grad_enabled_as_context():
    class M(Net):
        def forward(self, x):
            with torch.set_grad_enabled(not self.training):
                return self.lin(x)

    return M(), (t(2, 3),)


@equal
def set_grad_enabled_as_call_and_back():
    class M(Net):
        def forward(self, x):
            before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            y = self.lin(x)
            torch.set_grad_enabled(before)
            return y, self.lin(x)

    return M(), (t(2, 3),)


@sound("global-state")
def inference_mode_region():
    class M(Net):
        def forward(self, x):
            with torch.inference_mode():
                y = self.lin(x)
            return x + 1, y.is_inference()

    return M(), (t(2, 3),)


@refused("global-state", "process-state")
def grad_mode_left_off():
    class M(Net):
        def forward(self, x):
            torch.set_grad_enabled(False)
            return self.lin(x)

    return M(), (t(2, 3),)


@equal
def grad_mode_is_read():
    class M(Net):
        def forward(self, x):
            return self.lin(x) * (2 if torch.is_grad_enabled() else 3)

    return M(), (t(2, 3),)


@equal
def region_left_by_an_exception():
    class M(Net):
        def forward(self, x):
            try:
                with torch.no_grad():
                    y = self.lin(x)
                    raise ValueError
            except ValueError:
                return self.lin(x) + y

    return M(), (t(2, 3),)


@equal
def region_left_by_return_in_a_loop():
    class M(Net):
        def hidden(self, x):
            for i in range(3):
                with torch.no_grad():
                    if i == 1:
                        return self.lin(x) * i
            return x

        def forward(self, x):
            return self.hidden(x) + self.lin(x)

    return M(), (t(2, 3),)


@equal
def no_grad_around_a_generator():
    class M(Net):
        def parts(self, x):
            with torch.no_grad():
                yield self.lin(x)
            yield self.lin(x)

        def forward(self, x):
            return list(self.parts(x))

    return M(), (t(2, 3),)


@equal
def autocast_region():
    class M(Net):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.lin(x)
            return y, y.dtype, self.lin(x)

    return M(), (t(2, 3),)


@equal
def nested_autocast_off():
    class M(Net):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                a = self.lin(x)
                with torch.autocast("cpu", enabled=False):
                    b = self.lin(x.float())
            return a.float() + b, torch.is_autocast_enabled("cpu")

    return M(), (t(2, 3),)


@equal
def autocast_and_no_grad():
    class M(Net):
        def forward(self, x):
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.lin(x) @ x.t()
            return y.float() + self.lin(x).sum()

    return M(), (t(2, 3),)


@equal
def autocast_decorator():
    class M(Net):
        @torch.autocast("cpu", dtype=torch.bfloat16)
        def forward(self, x):
            return self.lin(x)

    return M(), (t(2, 3),)


@equal
def default_dtype_is_read():
    def forward(x):
        return x + torch.zeros(3), torch.get_default_dtype()

    return forward, (t(3),)


@sound("global-state", "process-state")
def default_dtype_changed_and_put_back():
    def forward(x):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        y = torch.ones(3)
        torch.set_default_dtype(before)
        return x + y, torch.zeros(1)

    return forward, (t(3),)


@equal
def default_device_context():
    def forward(x):
        with torch.device("cpu"):
            y = torch.ones(3)
        return x + y

    return forward, (t(3),)


@equal
def meta_device_context():
    def forward(x):
        with torch.device("meta"):
            y = torch.ones(3, 5)
        return x * y.shape[1], y.device.type

    return forward, (t(3),)


@sound("global-rng", "global-state")
def fork_rng():
    def forward(x):
        with torch.random.fork_rng():
            y = torch.rand(3)
        return x + y + torch.rand(3)

    return forward, (t(3),)


@equal
def sdpa_kernel_context():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def forward(q):
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, q, q)

    return forward, (t(1, 2, 4, 8),)


@equal
def deterministic_switch_is_read():
    def forward(x):
        return x * (2 if torch.are_deterministic_algorithms_enabled() else 3)

    return forward, (t(3),)


@sound()
def saved_tensor_hooks():
    def forward(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
            return (x * x).sum()

    return forward, (t(3, requires_grad=True),)


@equal
def compiler_questions():
    def forward(x):
        if torch.jit.is_scripting() or torch.jit.is_tracing():
            return x * 100
        return x * 2

    return forward, (t(3),)


@equal
def profiler_region():
    def forward(x):
        with torch.profiler.record_function("block"):
            return x * 2

    return forward, (t(3),)


@equal
def custom_autograd_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    def forward(x):
        return Double.apply(x, 2) + 1

    return forward, (t(3),)


@sound()
def custom_autograd_function_same_tensor_twice():
    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    def forward(x):
        return Mul.apply(x, x)

    return forward, (t(3, requires_grad=True),)


@sound()
def torch_func_vmap():
    def forward(x):
        return torch.func.vmap(lambda v: v * v.sum())(x)

    return forward, (t(2, 3),)


@sound()
def torch_func_functional_call():
    class M(Net):
        def forward(self, x):
            state = {k: v * 2 for k, v in self.lin.named_parameters()}
            return torch.func.functional_call(self.lin, state, (x,))

    return M(), (t(2, 3),)


@sound()
def torch_function_override():
    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            return result * 2 if func is torch.Tensor.add else result

    def forward(x):
        return torch.Tensor.add(x.as_subclass(Tagged), 1).as_subclass(torch.Tensor)

    return forward, (t(3),)


@sound()
def checkpoint():
    from torch.utils.checkpoint import checkpoint as run

    class M(Net):
        def forward(self, x):
            return run(lambda v: self.lin(v).relu(), x, use_reentrant=False)

    return M(), (t(2, 3),)


@equal
def torch_check():
    def forward(x):
        torch._check(x.shape[0] == 3)
        torch._check(x.dim() == 1, lambda: "one dimension")
        return x + 1

    return forward, (t(3),)


@sound()
def compiled_function_inside():
    inner = torch.compile(lambda v: v * 2, backend="eager")

    def forward(x):
        return inner(x) + 1

    return forward, (t(3),)


@sound()
def scripted_function_inside():
    @torch.jit.script
    def scaled(x: torch.Tensor, k: int) -> torch.Tensor:
        return x * k + 1

    def forward(x):
        return scaled(x, 3)

    return forward, (t(3),)


@equal
def overrides_and_tensor_checks():
    def forward(x):
        if torch.overrides.has_torch_function((x,)) and not torch.is_tensor(x):
            return x * 100
        return x * 2, torch.is_tensor(x), torch.is_floating_point(x), torch.numel(x)

    return forward, (t(3),)


@equal
def promotion_and_dtype_functions():
    def forward(x):
        kind = torch.promote_types(torch.int32, torch.float16)
        return x.to(kind), torch.finfo(x.dtype).eps, torch.iinfo(torch.int8).max, torch.result_type(x, 2), x.type()

    return forward, (t(3),)


@equal
def rms_norm_in_other_dtypes():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8, dtype=torch.bfloat16))

        def forward(self, x):
            kind = x.dtype
            x = x.to(torch.float32)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
            return self.weight * x.to(kind)

    return M(), (t(2, 8).to(torch.bfloat16),)


@equal
def compiled_function_called():
    compiled = torch.compile(torch.sin)

    def forward(x):
        return compiled(x) + 1

    return forward, (t(3),)


@equal
def python_function_wrapped_by_compile():
    def helper(x):
        return x.sin() * 2

    compiled = torch.compile(helper)

    def forward(x):
        return compiled(x) + 1

    return forward, (t(3),)


class Doubling(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ops.aten.sin.default else result


class EnteredByItself(Doubling):
    def __enter__(self):
        return super().__enter__()


@refused("dispatch-mode")
def dispatch_mode_in_forward():
    def forward(x):
        with Doubling():
            return x.sin() + 1

    return forward, (t(3),)


@refused("dispatch-mode")
def dispatch_mode_with_an_enter_of_its_own():
    def forward(x):
        with EnteredByItself():
            return x.sin() + 1

    return forward, (t(3),)


@equal
def dual_numbers():
    def forward(x):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            return tuple(forward_ad.unpack_dual(dual.sin()))

    return forward, (t(3),)


class Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Handled:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "handled"


@equal
def who_overrides_torch_functions():
    def forward(x):
        alone = has_torch_function((x,)), has_torch_function_unary(x), has_torch_function_variadic(x, x)
        with Passing():
            below = has_torch_function((x,))
        return x * 2 if has_torch_function((x,)) else x + 1, alone, below, has_torch_function((x, Handled()))

    return forward, (t(3),)
