"""Tensors: aliases, `.data`, detach, set_, gradients, attributes; right or refused."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..probe import Case, equal, refused, t


class Model(nn.Module):
    """`forward(*args)` is `body(self, *args)`; it has a parameter `w`, buffers `b` and `c`, and a plain tensor `k`."""

    def __init__(self, body: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.body = body
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("c", torch.zeros(3), persistent=False)
        self.k = torch.full((3,), 0.5)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, *args):
        return self.body(self, *args)


# ---- outputs that are inputs, or views of them


@equal
def output_is_the_input():
    return (lambda x: x), (t(3),)


@equal
def output_is_the_input_twice():
    return (lambda x: (x, x)), (t(3),)


@equal
def output_is_a_view_of_the_input():
    return (lambda x: x[1:]), (t(3),)


@equal
def output_is_a_changed_input():
    return (lambda x: x.add_(1)), (t(3),)


@equal
def outputs_are_views_of_one_tensor():
    def body(self, x):
        y = x + 1
        return y, y[0], y.view(-1)

    return Model(body), (t(2, 3),)


@equal
def output_is_a_parameter_and_a_buffer():
    return Model(lambda self, x: (self.w, self.b, self.b[:2], x)), (t(3),)


@equal
def output_is_a_detached_input():
    return (lambda x: x.detach()), (t(3, requires_grad=True),)


@equal
def view_of_the_input_changed():
    def body(self, x):
        x[0].mul_(2)
        return x + 1

    return Model(body), (t(3, 3),)


@equal
def view_taken_before_the_change():
    def body(self, x):
        v = x[0]
        x.mul_(2)
        return v + 1, x

    return Model(body), (t(3, 3),)


@equal
def expanded_input_changed():
    def body(self, x):
        y = x.clone()
        y.t()[0] += 1
        return y

    return Model(body), (t(3, 3),)


# ---- one tensor as two arguments, inputs that share memory


@equal
def same_tensor_twice_read():
    x = t(3)
    return Case(lambda a, b: a * 2 + b, (x, x), also=[((t(3), t(3)), {})])


@equal
def same_tensor_twice_one_changed():
    def body(self, a, b):
        a.add_(1)
        return a + b

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@equal
def different_tensors_then_the_same():
    def body(self, a, b):
        a.add_(1)
        return a + b

    y = t(3)
    return Case(Model(body), (t(3), t(3)), also=[((y, y), {})])


@equal
def inputs_share_memory_one_changed():
    def body(self, a, b):
        a.add_(1)
        return a + b

    x = t(4)
    return Case(Model(body), (x[:3], x[1:]), also=[((t(3), t(3)), {})])


@equal
def inputs_begin_to_share_memory():
    def body(self, a, b):
        a.add_(1)
        return a + b

    x = t(4)
    return Case(Model(body), (t(3), t(3)), also=[((x[:3], x[1:]), {})])


@equal
def input_is_a_view_of_another():
    def body(self, a, b):
        b.zero_()
        return a.sum() + b

    x = t(4)
    return Case(Model(body), (x, x[1:]))


@equal
def input_is_a_parameter():
    def body(self, x):
        return self.w * 2 + x

    m = Model(body)
    return Case(m, (m.w,))


@equal
def input_is_a_buffer_that_changes():
    def body(self, x):
        self.b.add_(1)
        return x * 2

    m = Model(body)
    return Case(m, (m.b,), also=[((t(3),), {})])


@equal
def input_shares_a_buffers_memory():
    def body(self, x):
        x.add_(1)
        return self.b * 2

    m = Model(body)
    return Case(m, (m.b[:2],))


@equal
def same_tensor_within_a_list():
    def body(self, xs):
        xs[0].mul_(2)
        return xs[0] + xs[1]

    x = t(3)
    return Case(Model(body), ([x, x],))


@equal
def identity_of_arguments_asked():
    def body(self, a, b):
        return a + 1 if a is b else a + b

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@refused("input-identity")
def identity_with_a_buffer_asked():
    def body(self, x):
        return x + 1 if x is self.b else x + 2

    m = Model(body)
    return Case(m, (t(3),), also=[((m.b,), {})])


@equal
def identity_by_membership():
    def body(self, a, b):
        return a + 1 if any(v is a for v in [b]) else a + b

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@equal
def identity_of_tensors_in_a_list():
    def body(self, xs):
        return xs[0] * len({x: i for i, x in enumerate(xs)}) + (xs[0] is xs[1])

    return Case(Model(body), ([t(3), t(3)],))


@equal
def identity_of_tensors_in_containers():
    def forward(*xs, **named):
        return xs[0] + (1 if xs[0] is xs[1] else 2) + (4 if named["pair"]["a"] is xs[0] else 8)

    x = t(3)
    return Case(forward, (x, x), {"pair": {"a": t(3)}})


@refused("unrecordable-id")
def identity_by_id_set():
    def body(self, a, b):
        return a * len({id(a), id(b)})

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@refused("input-identity")
def tensors_as_dict_keys():
    def body(self, a, b):
        return a * len({a: 1, b: 2})

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@refused("data-dependent-value")
def data_pointers_compared():
    def body(self, a, b):
        return a * (1 if a.data_ptr() == b.data_ptr() else 2)

    x = t(3)
    return Case(Model(body), (x, x), also=[((t(3), t(3)), {})])


@refused("autograd-graph")
def shared_storage_asked():
    """The example is a view, which the copies that the harness calls with are not."""

    def body(self, a, b):
        return a * (1 if a._is_view() else 2)

    x = t(3)
    return Case(Model(body), (x[:2], x[:2]), also=[((t(2), t(2)), {})])


# ---- .data, detach(), set_()


@equal
def data_of_an_input_changed():
    def body(self, x):
        x.data.mul_(3)
        return x + 1

    return Model(body), (t(3),)


@equal
def data_of_an_intermediate_changed():
    def body(self, x):
        y = x * 2
        y.data[0] = 5
        return y

    return Model(body), (t(3),)


@equal
def data_of_a_buffer_changed():
    def body(self, x):
        self.b.data.add_(1)
        return x * self.b

    return Model(body), (t(3),)


@equal
def data_of_a_parameter_copied_into():
    def body(self, x):
        self.w.data.copy_(self.w.data * 0.5)
        return x * self.w

    return Model(body), (t(3),)


@refused("constant-mutated")
def data_of_a_plain_tensor_changed():
    def body(self, x):
        self.k.data.add_(1)
        return x * self.k

    return Model(body), (t(3),)


@equal
def detached_input_changed():
    def body(self, x):
        x.detach().mul_(3)
        return x + 1

    return Model(body), (t(3),)


@equal
def detached_buffer_changed():
    def body(self, x):
        self.b.detach().add_(1)
        return x * self.b

    return Model(body), (t(3),)


@equal
def detached_in_place():
    def body(self, x):
        y = x * 2
        y.detach_()
        return y

    return Model(body), (t(3, requires_grad=True),)


@equal
def input_detached_in_place():
    def body(self, x):
        x.detach_()
        return x * 2

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def data_of_an_input_assigned():
    def body(self, x):
        x.data = x.data * 2
        return x

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def data_of_an_input_swapped_with_another():
    def body(self, a, b):
        a.data = b
        return a + 1

    return Model(body), (t(3), t(3))


@equal
def data_of_an_intermediate_assigned():
    def body(self, x):
        y = x + 1
        y.data = x * 3
        return y

    return Model(body), (t(3),)


@equal
def storage_of_an_input_set():
    def body(self, a, b):
        a.set_(b)
        return a + 1

    return Model(body), (t(3), t(3))


@equal
def storage_of_a_buffer_set():
    def body(self, x):
        self.b.set_(x * 2)
        return self.b + 1

    return Model(body), (t(3),)


@equal
def storage_of_an_intermediate_set():
    def body(self, x):
        y = torch.empty(0)
        y.set_(x * 2)
        return y

    return Model(body), (t(3),)


@equal
def input_resized():
    def body(self, x):
        x.resize_(2)
        return x + 1

    return Model(body), (t(3),)


@equal
def input_transposed_in_place():
    def body(self, x):
        x.t_()
        return x + 1

    return Model(body), (t(2, 3),)


@equal
def input_squeezed_in_place():
    def body(self, x):
        x.squeeze_(0)
        return x + 1

    return Model(body), (t(1, 3),)


@refused("tensor-data-assigned")
def tensors_swapped():
    def body(self, x):
        y = x * 2
        torch.utils.swap_tensors(y, self.k)
        return x + self.k

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def buffer_swapped_with_a_parameter():
    def body(self, x):
        self.b.data, self.c.data = self.c.data, self.b.data
        return x + self.b

    return Model(body), (t(3),)


@refused("data-dependent-value")
def untyped_storage_filled():
    def body(self, x):
        x.untyped_storage().fill_(0)
        return x + 1

    return Model(body), (t(3),)


@equal
def numpy_view_of_a_plain_tensor():
    def body(self, x):
        return x * float(self.k.numpy()[0])

    return Model(body), (t(3),)


@refused("constant-mutated")
def numpy_view_of_a_plain_tensor_changed():
    def body(self, x):
        self.k.numpy()[0] += 1
        return x * self.k

    return Model(body), (t(3),)


@refused("constant-mutated")
def tensor_from_a_numpy_array_changed():
    import numpy as np

    def body(self, x):
        torch.from_numpy(self.table).add_(1)
        return x * torch.from_numpy(self.table)

    return Model(body, table=np.ones(3, dtype=np.float32)), (t(3),)


@refused("constant-mutated")
def plain_tensor_filled_under_no_grad():
    def body(self, x):
        with torch.no_grad():
            self.k.fill_(float(self.n))
        return x * self.k

    return Model(body, n=2), (t(3),)


@refused("constant-mutated")
def out_argument_is_a_plain_tensor():
    def body(self, x):
        torch.add(x, 1, out=self.k)
        return self.k * 2

    return Model(body), (t(3),)


@equal
def out_argument_is_an_input():
    def body(self, x, y):
        torch.add(x, 1, out=y)
        return y * 2

    return Model(body), (t(3), t(3))


@equal
def list_of_tensors_changed_by_foreach():
    def body(self, x):
        torch._foreach_add_([self.b, self.c], 1.0)
        return x * self.b + self.c

    return Model(body), (t(3),)


@equal
def copy_between_buffers():
    def body(self, x):
        self.c.copy_(self.b)
        self.b.copy_(x)
        return self.c + self.b

    return Model(body), (t(3),)


# ---- gradients


@equal
def gradient_of_a_parameter_read():
    def body(self, x):
        return x * (0 if self.w.grad is None else 1)

    return Model(body), (t(3),)


@refused("tensor-attribute")
def gradient_of_a_parameter_present():
    def body(self, x):
        return x * (self.w.grad + 1)

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@refused("tensor-attribute")
def gradient_of_a_parameter_zeroed():
    def body(self, x):
        self.w.grad.zero_()
        return x * self.w

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@refused("tensor-attribute")
def zero_grad_of_the_module():
    def body(self, x):
        self.zero_grad()
        return x * self.w

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@refused("tensor-attribute")
def gradient_of_an_input_set():
    def body(self, x):
        x.grad = torch.ones(3)
        return x * 2

    return Model(body), (t(3),)


@refused("backward-in-forward")
def gradient_by_backward():
    def body(self, x):
        (self.w * x).sum().backward()
        return x * 2

    return Model(body), (t(3),)


@refused("tensor-attribute")
def requires_grad_of_an_input():
    def body(self, x):
        x.requires_grad_()
        return x * 2

    return Model(body), (t(3),)


@equal
def requires_grad_of_an_intermediate():
    def body(self, x):
        y = x * 2
        y.requires_grad_(True)
        return y.detach()

    return Model(body), (t(3),)


@equal
def requires_grad_read():
    return Model(lambda self, x: x * (2 if x.requires_grad else 3)), (t(3),)


@refused("gradient-hook")
def tensor_hook_on_a_parameter():
    def body(self, x):
        self.w.register_hook(lambda g: g * 2)
        return x * self.w

    return Model(body), (t(3),)


@refused("gradient-hook")
def tensor_hook_on_an_intermediate():
    def body(self, x):
        y = x * self.w
        y.register_hook(lambda g: g * 2)
        return y

    return Model(body), (t(3),)


@refused("gradient-hook")
def post_accumulate_hook():
    def body(self, x):
        self.w.register_post_accumulate_grad_hook(lambda p: None)
        return x * self.w

    return Model(body), (t(3),)


@equal
def retain_grad():
    def body(self, x):
        y = x * self.w
        y.retain_grad()
        return y

    return Model(body), (t(3),)


@refused("autograd-graph")
def grad_function_name():
    def body(self, x):
        return x * len((x * self.w).grad_fn.name())

    return Model(body), (t(3),)


# ---- attributes of tensors, versions, weak references


@refused("unrecordable-value")
def version_counter_read():
    def body(self, x):
        self.k.add(1)
        y = x * 2
        y.add_(1)
        return x * y._version

    return Model(body), (t(3),)


@refused("unrecordable-value")
def version_counter_of_a_buffer():
    def body(self, x):
        self.b.add_(1)
        return x * self.b._version

    return Model(body), (t(3),)


@refused("tensor-attribute")
def attribute_set_on_a_parameter():
    def body(self, x):
        self.w.seen = getattr(self.w, "seen", 0) + 1
        return x * self.w.seen

    return Model(body), (t(3),)


@refused("python-state")
def attribute_dict_of_a_buffer():
    def body(self, x):
        self.b.__dict__["seen"] = self.b.__dict__.get("seen", 0) + 1
        return x * self.b.__dict__["seen"]

    return Model(body), (t(3),)


@refused("tensor-attribute")
def attribute_set_on_an_input_and_read():
    def body(self, x):
        x.tag = 3
        return x * x.tag

    return Model(body), (t(3),)


@equal
def attribute_of_an_intermediate():
    def body(self, x):
        y = x * 2
        y.tag = 3
        return y * y.tag

    return Model(body), (t(3),)


@equal
def weak_reference_to_an_intermediate_kept():
    def body(self, x):
        y = x * 2
        self.ref = weakref.ref(y)
        return y * (2 if self.ref() is y else 3)

    return Model(body, ref=None), (t(3),)


@refused("python-state")
def weak_dictionary_of_tensors():
    def body(self, x):
        self.seen[x] = 1
        return x * len(self.seen)

    return Model(body, seen=weakref.WeakKeyDictionary()), (t(3),)


@equal
def weak_set_of_modules():
    def body(self, x):
        self.seen.add(self)
        return x * len(self.seen)

    return Model(body, seen=weakref.WeakSet()), (t(3),)


@refused("outside-iterator")
def weak_finalizer():
    calls: list[int] = []

    def body(self, x):
        class Local:
            pass

        weakref.finalize(Local(), calls.append, 1)
        return x * len(calls)

    return Model(body), (t(3),)


# ---- registration


@refused("parameter-assigned")
def parameter_registered():
    def body(self, x):
        if not hasattr(self, "extra"):
            self.register_parameter("extra", nn.Parameter(torch.ones(3)))
        return x * self.extra

    return Model(body), (t(3),)


@refused("python-state")
def module_added():
    def body(self, x):
        self.add_module("extra", nn.Identity())
        return self.extra(x)

    return Model(body), (t(3),)


@refused("python-state")
def module_list_grows():
    def body(self, x):
        self.layers.append(nn.Identity())
        return x * len(self.layers)

    return Model(body, layers=nn.ModuleList()), (t(3),)


@refused("python-state")
def submodule_deleted():
    def body(self, x):
        y = self.layer(x) if hasattr(self, "layer") else x
        if hasattr(self, "layer"):
            del self.layer
        return y * 2

    return Model(body, layer=nn.ReLU()), (t(3),)


@refused("python-state")
def forward_hook_registered():
    def body(self, x):
        self.layer.register_forward_hook(lambda m, i, o: o + 1)
        return self.layer(x)

    return Model(body, layer=nn.Identity()), (t(3),)


@equal
def forward_hook_registered_and_removed():
    def body(self, x):
        with_hook = self.layer.register_forward_hook(lambda m, i, o: o + 1)
        y = self.layer(x)
        with_hook.remove()
        return y

    return Model(body, layer=nn.Identity()), (t(3),)


@equal
def global_hook_registered():
    def body(self, x):
        handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: None)
        handle.remove()
        return x * 2

    return Model(body), (t(3),)


@equal
def state_dict_loaded():
    def body(self, x):
        self.load_state_dict({"w": self.w * 2, "b": self.b})
        return x * self.w

    return Model(body), (t(3),)


@refused("parameter-assigned")
def module_moved():
    def body(self, x):
        self.double()
        return x * self.w

    return Model(body), (t(3),)


@equal
def module_applied():
    def body(self, x):
        self.apply(lambda m: m.b.fill_(2.0) if hasattr(m, "b") else None)
        return x * self.b

    return Model(body), (t(3),)


@equal
def weights_initialised():
    def body(self, x):
        nn.init.constant_(self.w, 2.0)
        return x * self.w

    return Model(body), (t(3),)


@refused("python-state")
def mode_switched():
    def body(self, x):
        y = x * (2 if self.training else 3)
        self.train(not self.training)
        return y

    return Model(body), (t(3),)


@equal
def mode_switched_and_back():
    def body(self, x):
        was = self.training
        self.eval()
        y = x * (2 if self.training else 3)
        self.train(was)
        return y

    return Model(body), (t(3),)


@refused("tensor-attribute")
def module_requires_grad_switched():
    def body(self, x):
        self.requires_grad_(False)
        return x * self.w

    return Model(body), (t(3),)
