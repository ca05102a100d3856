"""Python state, continued: scratch attributes, memo fields, first calls, references, callbacks."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import weakref

import torch
from torch import nn

from ..probe import equal, raises, refused, sound, t

COUNT = 0
TABLE: dict[str, object] = {}
ITEMS: list[object] = []
CONFIG = {"scale": 3.0, "layers": [1, 2]}
REGISTRY = {"relu": torch.relu, "sin": torch.sin}


class Module(nn.Module):
    """Takes its attributes as arguments."""

    def __init__(self, **attributes):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        for name, value in attributes.items():
            setattr(self, name, value)


class Holder:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@refused("python-state")
def patched_class_method():
    class Op:
        def go(self, x):
            return x + 1

    def forward(x):
        y = Op().go(x)
        Op.go = lambda self, x: x + 2
        return y

    return forward, (t(3),)


@equal
def patched_and_put_back():
    class M(Module):
        def forward(self, x):
            old = self.scale
            self.scale = 10.0
            try:
                return self.scaled(x)
            finally:
                self.scale = old

        def scaled(self, x):
            return x * self.scale

    return M(scale=2.0), (t(3),)


@equal
def list_pushed_and_popped():
    class M(Module):
        def forward(self, x):
            self.stack.append(x)
            y = self.stack[-1] * len(self.stack)
            self.stack.pop()
            return y

    return M(stack=[1, 2]), (t(3),)


@equal
def scratch_attribute_number():
    class M(Module):
        def forward(self, x):
            self.last = x.shape[0] + 1
            return x * self.last

    return M(last=0), (t(3),)


@equal
def scratch_attribute_tensor():
    class M(Module):
        def forward(self, x):
            self.hidden = self.lin(x)
            return self.hidden * 2

    return M(hidden=None), (t(2, 3),)


@equal
def scratch_attribute_tensor_made_on_first_call():
    class M(Module):
        def forward(self, x):
            self.hidden = self.lin(x)
            return self.hidden * 2

    return M(), (t(2, 3),)


@equal
def scratch_attribute_on_submodule():
    class Inner(Module):
        def forward(self, x):
            self.attention = torch.softmax(self.lin(x), -1)
            return self.attention @ x.t()

    class M(Module):
        def forward(self, x):
            y = self.inner(x)
            return y, self.inner.attention

    return M(inner=Inner()), (t(2, 3),)


@equal
def same_value_is_written():
    class M(Module):
        def forward(self, x):
            self.size = x.shape[-1]
            return x * self.size

    return M(size=3), (t(2, 3),)


@equal
def memo_of_a_number():
    class M(Module):
        def forward(self, x):
            if self.scale is None:
                self.scale = 2.0 * x.shape[-1]
            return x * self.scale

    return M(scale=None), (t(2, 3),)


@equal
def memo_by_hasattr():
    class M(Module):
        def forward(self, x):
            if not hasattr(self, "made"):
                self.made = (1.0, 2.0)
            return x * self.made[1]

    return M(), (t(3),)


@sound()
def memo_of_a_tensor():
    class M(Module):
        def forward(self, x):
            if self.mask is None:
                self.mask = torch.tril(torch.ones(3, 3))
            return self.lin(x) @ self.mask

    return M(mask=None), (t(2, 3),)


@refused("new-state-tensor", "python-state", "foreign-tensor")
def memo_of_a_tensor_that_depends_on_the_input():
    class M(Module):
        def forward(self, x):
            if self.first is None:
                self.first = x * 1
            return x + self.first

    return M(first=None), (t(3),)


@refused("python-state", "new-state-tensor", "foreign-tensor")
def previous_input_is_used():
    class M(Module):
        def forward(self, x):
            y = x if self.previous is None else x - self.previous
            self.previous = x
            return y

    return M(previous=None), (t(3),)


@refused("python-state")
def first_call_is_different():
    class M(Module):
        def forward(self, x):
            first, self.first = self.first, False
            return x * 10 if first else x

    return M(first=True), (t(3),)


@refused("python-state")
def third_call_is_different():
    class M(Module):
        def forward(self, x):
            self.n = min(self.n + 1, 5)
            return x * 10 if self.n > 2 else x

    return M(n=0), (t(3),)


@equal
def hooks_installed_on_first_call():
    class M(Module):
        def forward(self, x):
            if not self.ready:
                self.ready = True
                self.lin.register_forward_hook(lambda m, args, out: out * 2)
            return self.lin(x)

    return M(ready=False), (t(2, 3),)


@equal
def lazily_built_python_table():
    class M(Module):
        def forward(self, x):
            table = self.table
            if not table:
                for i in range(3):
                    table[i] = i * 2.0
            return x * table[2]

    return M(table={}), (t(3),)


@equal
def globals_read():
    def forward(x):
        return REGISTRY["sin"](x) * CONFIG["scale"] + len(CONFIG["layers"])

    return forward, (t(3),)


@equal
def young_objects_may_change():
    def forward(x):
        box = Holder(n=0, parts=[])
        for i in range(3):
            box.n += i
            box.parts.append(x * box.n)
        cache = {}
        cache.setdefault("k", []).append(x)
        return sum(box.parts) + cache["k"][0]

    return forward, (t(3),)


@equal
def weak_references_from_outside():
    class M(Module):
        def __init__(self, **kw):
            super().__init__(**kw)
            self.__dict__["ref"] = weakref.ref(self.lin)

        def forward(self, x):
            return self.ref()(x)

    return M(), (t(2, 3),)


@sound("python-state", "new-state-tensor")
def weak_reference_is_kept():
    class Box:
        pass

    class M(Module):
        def forward(self, x):
            alive = self.ref is not None and self.ref() is not None
            box = Box()
            self.ref = weakref.ref(box)
            return x * 2 if alive else x

    return M(ref=None), (t(3),)


@refused("python-state")
def observer_list_outside():
    seen = []

    def forward(x):
        seen.append(x.shape)
        return x * 2

    return forward, (t(3),)


@refused("python-state")
def callback_changes_state():
    log = []

    def key(i):
        log.append(i)
        return -i

    def forward(x):
        order = sorted([1, 2, 3], key=key)
        return x * order[0] + len(log)

    return forward, (t(3),)


@refused("python-state")
def dunder_changes_state():
    class Meter:
        def __init__(self):
            self.n = 0

        def __len__(self):
            self.n += 1
            return self.n

    meter = Meter()

    def forward(x):
        return x * len(meter)

    return forward, (t(3),)


@refused("python-state")
def state_changes_before_an_error_is_caught():
    class M(Module):
        def forward(self, x):
            try:
                self.n += 1
                raise ValueError
            except ValueError:
                return x * self.n

    return M(n=0), (t(3),)


@raises
def state_changes_before_an_error():
    class M(Module):
        def forward(self, x):
            self.n += 1
            TABLE["error"] = self.n
            ITEMS.append(x)
            raise ValueError("after changing things")

    TABLE.clear()
    ITEMS.clear()
    return M(n=0), (t(3),)


@refused("data-dependent-branch", "data-dependent-value")
def state_changes_before_a_graph_break():
    class M(Module):
        def forward(self, x):
            self.n += 1
            self.seen.append(x)
            if x.sum() > 0:
                return x
            return -x

    return M(n=0, seen=[]), (t(3),)


@sound("python-state")
def object_in_a_list_is_replaced_by_an_equal_one():
    class M(Module):
        def forward(self, x):
            self.conf = dict(self.conf)
            return x * self.conf["k"]

    return M(conf={"k": 2}), (t(3),)


@refused("python-state")
def finalizer_counts():
    class Tracked:
        alive = 0

        def __del__(self):
            Tracked.alive += 1

    def forward(x):
        made = Tracked()
        del made
        return x * Tracked.alive

    return forward, (t(3),)


@sound()
def parameter_list_is_made_on_first_call():
    class M(Module):
        def forward(self, x):
            if "extra" not in self._modules:
                self.extra = nn.Identity()
            return self.extra(x)

    return M(), (t(3),)


@refused("python-state", "process-state")
def environment_variable_counts():
    import os

    os.environ["PROBE_COUNT"] = "0"

    def forward(x):
        os.environ["PROBE_COUNT"] = str(int(os.environ["PROBE_COUNT"]) + 1)
        return x * int(os.environ["PROBE_COUNT"])

    return forward, (t(3),)


@refused("python-state")
def class_attribute_rebound_and_read_through_an_instance():
    class Op:
        scale = 1.0

    op = Op()

    def forward(x):
        y = x * op.scale
        Op.scale = 3.0
        return y

    return forward, (t(3),)


@equal
def containers_made_again_with_the_same_in_them():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = [torch.ones(3), torch.zeros(3)]
            self.named = {"a": torch.ones(3), "n": [1, (2, 3)]}
            self.before = self.tables

        def forward(self, x):
            self.tables = [table.to(x.device) for table in self.tables]
            self.named = {key: v.to(x) if key == "a" else [1, (2, len(v) + 1)] for key, v in self.named.items()}
            return x + self.tables[0] * self.named["a"] + self.named["n"][0]

    return M(), (t(3),)


@refused("python-state")
def container_made_again_that_was_another_one_before():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.values = self.same = [1, 2]

        def forward(self, x):
            first = self.values is self.same
            self.values = list(self.values)
            return x + (1 if first else 2)

    return M(), (t(3),)


@refused("python-state")
def containers_made_again_in_another_order_or_longer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.order, self.values = {"a": 1, "b": 2}, []

        def forward(self, x):
            first = next(iter(self.order.values())) + len(self.values)
            self.order = dict(reversed(self.order.items()))
            self.values = [*self.values, None]
            return x * first

    return M(), (t(3),)


class Backends:
    """The state of a registry, copied before each look-up that might add to it."""

    def __init__(self, other=None):
        self.names, self.backends, self.by_type = set(), [], {}
        if other is not None:
            self.names.update(other.names)
            self.backends.extend(other.backends)
            self.by_type.update(other.by_type)


class Registry:
    def __init__(self, state=Backends):
        self.state = state()

    def find(self, kind):
        self.state = new = type(self.state)(self.state)
        if kind not in new.by_type:
            new.names.add(kind.__name__)
            new.backends.append(lambda x: x * 2)
            new.by_type[kind] = new.backends[-1]
        return new.by_type[kind]


def _registered(state=Backends, ask=None, found=False):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.registry = Registry(state)
            if found:
                self.registry.find(torch.Tensor)

        def forward(self, x):
            y = self.registry.find(type(x))(x)
            return y if ask is None else y + ask(self.registry)

    return M(), (t(3),)


@equal
def state_copied_before_each_look_up():
    return _registered()


@equal
def state_copied_before_each_look_up_that_has_found_it():
    return _registered(found=True)


@refused("python-state")
def state_copied_with_a_number_that_goes_on():
    class Counted(Backends):
        def __init__(self, other=None):
            super().__init__(other)
            self.copies = 0 if other is None else other.copies + 1

    return _registered(Counted, lambda registry: min(registry.state.copies, 3))


@refused("python-state")
def state_copied_of_which_the_program_asks_whether_it_is_the_first():
    class Asked(Backends):
        first = None

        def __init__(self, other=None):
            super().__init__(other)
            Asked.first = Asked.first or self

    return _registered(Asked, lambda registry: 1 if registry.state is Asked.first else 2, found=True)


@refused("python-state")
def state_copied_with_names_in_another_order():
    class Turned(Backends):
        def __init__(self, other=None):
            super().__init__(other)
            self.order = dict.fromkeys("abc" if other is None else reversed(other.order), 1)

    return _registered(Turned, lambda registry: ord(next(iter(registry.state.order))))


@refused("python-state")
def state_copied_into_slots():
    class Slotted:
        __slots__ = ("backends", "by_type", "names")
        __init__ = Backends.__init__

    return _registered(Slotted)


@sound
def state_copied_that_says_when_it_dies():
    class Heard(Backends):
        died: list[int] = []

        def __del__(self):
            Heard.died.append(len(Heard.died))

    return _registered(Heard, lambda registry: len(type(registry.state).died))
