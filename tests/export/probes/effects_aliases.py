"""Outputs that are inputs or views of them, arguments that share memory."""

# Programs as users write them, odd ones too.

from __future__ import annotations

from ..probe import Case, equal, refused, t
from .tensor_modules import Model

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


@refused("input-identity")
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
