"""Gradients, attributes and versions of tensors, registration."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import weakref

import torch
from torch import nn

from ..probe import equal, refused, t, with_gradients
from .tensor_modules import Model

# ---- gradients


@equal
def gradient_of_a_parameter_read():
    def body(self, x):
        return x * (0 if self.w.grad is None else 1)

    return Model(body), (t(3),)


@equal
def gradient_of_a_parameter_present():
    def body(self, x):
        return x * (self.w.grad + 1)

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@equal
def gradient_of_a_parameter_zeroed():
    def body(self, x):
        self.w.grad.zero_()
        return x * self.w

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@equal
def zero_grad_of_the_module():
    def body(self, x):
        self.zero_grad()
        return x * self.w

    m = Model(body)
    m.w.grad = torch.ones(3)
    return m, (t(3),)


@refused("input-gradient")
def gradient_of_an_input_set():
    def body(self, x):
        x.grad = torch.ones(3)
        return x * 2

    return Model(body), (t(3),)


@equal
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


@refused("background-code")
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


@equal
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


class _Adapted(nn.Module):
    """A layer with an adapter whose parameters are frozen while it is off, as adapter libraries write it."""

    def __init__(self, between=None, before=False, forget=False):
        super().__init__()
        self.base, self.adapter = nn.Linear(3, 3), nn.Linear(3, 3)
        self.between, self.before, self.forget, self.off = between, before, forget, False

    def layer(self, x):
        return self.base(x) if self.off else self.base(x) + self.adapter(x)

    def forward(self, x):
        start = self.layer(x) if self.before else x
        self.off = True
        self.adapter.requires_grad_(False)
        plain = self.layer(start)
        if self.between is not None:
            plain = plain + self.between(self.adapter)
        if not self.forget:
            for parameter in self.adapter.parameters():
                parameter.requires_grad = True
        self.off = False
        return self.layer(x) * plain


@equal
def adapter_frozen_for_a_while():
    return with_gradients(_Adapted(), t(2, 3))


@equal
def adapter_frozen_for_a_while_that_was_used_before():
    return with_gradients(_Adapted(before=True), t(2, 3))


@equal
def adapter_frozen_for_a_while_whose_flag_is_read():
    return with_gradients(_Adapted(lambda adapter: float(adapter.weight.requires_grad)), t(2, 3))


@refused("tensor-attribute")
def adapter_used_while_it_is_frozen():
    return with_gradients(_Adapted(lambda adapter: adapter.weight.sum()), t(2, 3))


@refused("tensor-attribute")
def adapter_used_before_and_while_it_is_frozen():
    return with_gradients(_Adapted(lambda adapter: adapter.bias * 2, before=True), t(2, 3))


@refused("tensor-attribute")
def adapter_that_stays_frozen():
    return with_gradients(_Adapted(forget=True), t(2, 3))
