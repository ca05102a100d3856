"""Python state that lives on from call to call, and state that does not matter."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import collections
import weakref

import torch
from torch import nn

from ..probe import refused, t

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
def attribute_counter():
    class M(Module):
        def forward(self, x):
            self.count += 1
            return self.lin(x) * self.count

    return M(count=0), (t(2, 3),)


@refused("python-state")
def counter_that_no_output_uses():
    class M(Module):
        def forward(self, x):
            self.count += 1
            return self.lin(x)

    return M(count=0), (t(2, 3),)


@refused("python-state")
def attribute_toggles():
    class M(Module):
        def forward(self, x):
            self.flag = not self.flag
            return self.lin(x) if self.flag else x

    return M(flag=False), (t(2, 3),)


@refused("python-state")
def counter_by_setattr():
    class M(Module):
        def forward(self, x):
            self.count = self.count + 1
            return x * self.count

    return M(count=0), (t(3),)


@refused("python-state")
def counter_by_dunder_dict():
    class M(Module):
        def forward(self, x):
            self.__dict__["count"] += 1
            return x * self.count

    return M(count=0), (t(3),)


@refused("python-state")
def counter_by_vars_update():
    class M(Module):
        def forward(self, x):
            vars(self).update(count=self.count + 1)
            return x * self.count

    return M(count=0), (t(3),)


@refused("python-state")
def counter_by_object_setattr():
    class M(Module):
        def forward(self, x):
            object.__setattr__(self, "count", self.count + 1)
            return x * self.count

    return M(count=0), (t(3),)


@refused("python-state")
def list_attribute_grows():
    class M(Module):
        def forward(self, x):
            self.seen.append(1)
            return x * len(self.seen)

    return M(seen=[]), (t(3),)


@refused("python-state")
def list_item_is_set():
    class M(Module):
        def forward(self, x):
            self.cell[0] += 1
            return x * self.cell[0]

    return M(cell=[1]), (t(3),)


@refused("python-state", "new-state-tensor")
def list_of_tensors_grows():
    class M(Module):
        def forward(self, x):
            self.seen.append(x)
            return sum(self.seen)

    return M(seen=[]), (t(3),)


@refused("python-state")
def dictionary_attribute_counts():
    class M(Module):
        def forward(self, x):
            self.stats["n"] = self.stats.get("n", 0) + 1
            return x * self.stats["n"]

    return M(stats={}), (t(3),)


@refused("python-state")
def nested_container_counts():
    class M(Module):
        def forward(self, x):
            self.stats["deep"][1]["n"] += 1
            return x * self.stats["deep"][1]["n"]

    return M(stats={"deep": [0, {"n": 1}]}), (t(3),)


@refused("python-state")
def set_attribute_grows():
    class M(Module):
        def forward(self, x):
            self.seen.add(len(self.seen))
            return x * len(self.seen)

    return M(seen=set()), (t(3),)


@refused("python-state")
def deque_attribute_rotates():
    class M(Module):
        def forward(self, x):
            self.ring.rotate(1)
            return x * self.ring[0]

    return M(ring=collections.deque([1.0, 2.0, 3.0])), (t(3),)


@refused("python-state")
def default_dictionary_fills():
    class M(Module):
        def forward(self, x):
            n = len(self.table)
            self.table[n]
            return x * len(self.table)

    return M(table=collections.defaultdict(int)), (t(3),)


@refused("python-state")
def counter_object_counts():
    class M(Module):
        def forward(self, x):
            self.counter.update(["a"])
            return x * self.counter["a"]

    return M(counter=collections.Counter()), (t(3),)


@refused("python-state")
def bytearray_grows():
    class M(Module):
        def forward(self, x):
            self.raw.append(1)
            return x * len(self.raw)

    return M(raw=bytearray(b"a")), (t(3),)


@refused("python-state")
def object_attribute_counts():
    class M(Module):
        def forward(self, x):
            self.state.n += 1
            return x * self.state.n

    return M(state=Holder(n=0)), (t(3),)


@refused("python-state")
def slot_counts():
    class Slim:
        __slots__ = ("n",)

    slim = Slim()
    slim.n = 0

    def forward(x):
        slim.n += 1
        return x * slim.n

    return forward, (t(3),)


@refused("python-state")
def property_setter_counts():
    class M(Module):
        @property
        def n(self):
            return self._n

        @n.setter
        def n(self, v):
            self._n = v

        def forward(self, x):
            self.n = self.n + 1
            return x * self.n

    return M(_n=0), (t(3),)


@refused("python-state")
def descriptor_keeps_state_elsewhere():
    class Store:
        def __init__(self):
            self.values = weakref.WeakKeyDictionary()

        def __get__(self, obj, owner):
            return self.values.get(obj, 0)

        def __set__(self, obj, v):
            self.values[obj] = v

    class Thing:
        n = Store()

    thing = Thing()

    def forward(x):
        thing.n += 1
        return x * thing.n

    return forward, (t(3),)


@refused("python-state")
def global_counter():
    global COUNT
    COUNT = 0

    def forward(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return forward, (t(3),)


@refused("python-state")
def global_dictionary():
    TABLE.clear()

    def forward(x):
        TABLE["n"] = int(TABLE.get("n", 0)) + 1
        return x * TABLE["n"]

    return forward, (t(3),)


@refused("python-state", "new-state-tensor")
def global_list_of_outputs():
    ITEMS.clear()

    def forward(x):
        ITEMS.append(x * 2)
        return x * len(ITEMS)

    return forward, (t(3),)


@refused("python-state")
def global_by_globals_call():
    global COUNT
    COUNT = 0

    def forward(x):
        globals()["COUNT"] += 1
        return x * COUNT

    return forward, (t(3),)


@refused("python-state")
def attribute_of_an_imported_module():
    import math

    math.probe_counter = 0

    def forward(x):
        math.probe_counter += 1
        return x * math.probe_counter

    return forward, (t(3),)


@refused("python-state")
def attribute_is_deleted():
    class M(Module):
        def forward(self, x):
            if hasattr(self, "once"):
                del self.once
                return x * 2
            return x

    return M(once=1), (t(3),)


@refused("python-state")
def list_is_emptied():
    class M(Module):
        def forward(self, x):
            return x * (self.todo.pop() if self.todo else 1)

    return M(todo=[2, 3]), (t(3),)


@refused("python-state")
def attribute_is_swapped():
    class M(Module):
        def forward(self, x):
            self.a, self.b = self.b, self.a
            return x * self.a

    return M(a=2, b=3), (t(3),)


@refused("python-state")
def training_flag_is_changed():
    class M(Module):
        def forward(self, x):
            y = x * 2 if self.training else x
            self.eval()
            return y

    return M(), (t(3),)


@refused("python-state")
def submodule_is_replaced():
    class M(Module):
        def forward(self, x):
            y = self.lin(x)
            self.lin = nn.Identity()
            return y

    return M(), (t(2, 3),)


@refused("python-state")
def method_is_replaced():
    class M(Module):
        def first(self, x):
            self.go = self.second
            return x * 2

        def second(self, x):
            return x * 3

        def forward(self, x):
            return self.go(x) if "go" in self.__dict__ else self.first(x)

    return M(), (t(3),)


@refused("python-state")
def class_of_an_object_changes():
    class A:
        k = 2

    class B:
        k = 3

    thing = A()

    def forward(x):
        k = thing.k
        thing.__class__ = B
        return x * k

    return forward, (t(3),)
