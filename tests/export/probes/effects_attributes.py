"""Writes to attributes, by every way that Python has."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import copy
import functools
import types

from ..probe import refused, sound, t
from .writers import STATE, Model, Plain, Slots

# ---- attributes by every road


@refused(STATE)
def attribute_through_vars():
    def body(self, x):
        vars(self)["n"] = self.n + 1
        return x * self.n

    return Model(body, n=1), (t(3),)


@refused(STATE)
def dict_replaced():
    def body(self, x):
        self.obj.__dict__ = {"n": self.obj.n + 1}
        return x * self.obj.n

    return Model(body, obj=Plain(n=1)), (t(3),)


@refused(STATE)
def dict_merged_in_place():
    def body(self, x):
        self.obj.__dict__ |= {"n": self.obj.n + 1}
        return x * self.obj.n

    return Model(body, obj=Plain(n=1)), (t(3),)


@refused(STATE)
def slot_through_its_descriptor():
    def body(self, x):
        Slots.n.__set__(self.obj, self.obj.n + 1)
        return x * self.obj.n

    return Model(body, obj=Slots(1)), (t(3),)


@refused(STATE)
def slot_deleted():
    def body(self, x):
        y = x * getattr(self.obj, "n", 5)
        if hasattr(self.obj, "n"):
            del self.obj.n
        return y

    return Model(body, obj=Slots(1)), (t(3),)


@refused(STATE)
def namespace_attribute():
    def body(self, x):
        self.obj.n += 1
        return x * self.obj.n

    return Model(body, obj=types.SimpleNamespace(n=1)), (t(3),)


@refused(STATE)
def class_attribute_by_type_setattr():
    class Local:
        n = 1

    def body(self, x):
        type.__setattr__(Local, "n", Local.n + 1)
        return x * Local.n

    return Model(body), (t(3),)


@refused(STATE)
def class_attribute_deleted():
    class Local:
        n = 1

    def body(self, x):
        y = x * getattr(Local, "n", 5)
        if hasattr(Local, "n"):
            del Local.n
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def class_bases_assigned():
    class A:
        n = 1

    class B:
        n = 2

    class Local(A):
        pass

    def body(self, x):
        y = x * Local.n
        Local.__bases__ = (B,)
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def class_renamed():
    class Local:
        pass

    def body(self, x):
        y = x * len(Local.__name__)
        Local.__name__ = "Other"
        return y

    return Model(body), (t(3),)


@refused(STATE)
def class_of_an_instance_assigned():
    class A:
        n = 1

    class B:
        n = 2

    def body(self, x):
        y = x * self.obj.n
        self.obj.__class__ = B
        return y

    return Model(body, obj=A()), (t(3),)


@refused(STATE)
def class_through_its_descriptor():
    class A:
        n = 1

    class B:
        n = 2

    def body(self, x):
        y = x * self.obj.n
        object.__dict__["__class__"].__set__(self.obj, B)
        return y

    return Model(body, obj=A()), (t(3),)


@refused(STATE)
def mutable_default():
    def body(self, x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    return Model(body), (t(3),)


@refused(STATE)
def default_replaced():
    def scale(x, by=1):
        return x * by

    def body(self, x):
        y = scale(x)
        scale.__defaults__ = (scale.__defaults__[0] + 1,)
        return y

    return Model(body), (t(3),)


@refused(STATE)
def keyword_default_changed():
    def scale(x, *, by=1):
        return x * by

    def body(self, x):
        y = scale(x)
        scale.__kwdefaults__["by"] = 5
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def code_replaced():
    def one(x):
        return x * 1

    def two(x):
        return x * 2

    def body(self, x):
        y = one(x)
        one.__code__ = two.__code__
        return y

    return Model(body), (t(3),)


@refused(STATE)
def function_attribute():
    def body(self, x):
        body.calls = getattr(body, "calls", 0) + 1
        return x * body.calls

    return Model(body), (t(3),)


@sound(STATE, "outside-object")
def annotations_changed():
    def one(x: int):
        return x

    def body(self, x):
        y = x * len(one.__annotations__)
        one.__annotations__["y"] = int
        return y

    return Model(body), (t(3),)


@refused(STATE)
def nonlocal_counter():
    n = 1

    def body(self, x):
        nonlocal n
        n += 1
        return x * n

    return Model(body), (t(3),)


@sound(STATE, "outside-object")
def cell_contents_assigned():
    n = 1

    def read():
        return n

    def body(self, x):
        cell = read.__closure__[0]
        cell.cell_contents = cell.cell_contents + 1
        return x * read()

    return Model(body), (t(3),)


@refused(STATE)
def module_attribute():
    def body(self, x):
        self.mod.n = self.mod.n + 1
        return x * self.mod.n

    mod = types.ModuleType("made_up")
    mod.n = 1
    return Model(body, mod=mod), (t(3),)


@sound(STATE, "outside-object")
def exception_arguments_assigned():
    def body(self, x):
        y = x * len(self.err.args)
        self.err.args = (1, 2, 3)
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object")
def exception_cause_assigned():
    def body(self, x):
        y = x * (1 if self.err.__cause__ is None else 2)
        self.err.__cause__ = KeyError()
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE)
def exception_from_outside_is_raised():
    def body(self, x):
        z = x + 1
        try:
            raise self.err
        except ValueError as error:
            y = z * len(error.args)
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def exception_context_chained():
    def body(self, x):
        try:
            try:
                raise KeyError(int(x.shape[0]))
            except KeyError:
                raise self.err  # noqa: B904
        except ValueError as error:
            return x * (1 if error.__context__ is None else 2)

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def exception_note_added():
    def body(self, x):
        self.err.add_note("n")
        return x * len(self.err.__notes__)

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def partial_state_set():
    def body(self, x):
        y = x * self.fn(1, 1)
        self.fn.__setstate__((max, (5,), {}, {}))
        return y

    return Model(body, fn=functools.partial(max, 1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def copied_state_is_its_own():
    def body(self, x):
        other = copy.deepcopy(self.obj)
        other.n += 1
        other.xs.append(1)
        return x * other.n * len(other.xs)

    return Model(body, obj=Plain(n=1, xs=[1])), (t(3),)


@refused(STATE)
def dataclass_field_replaced():
    import dataclasses

    @dataclasses.dataclass
    class Config:
        n: int = 1

    def body(self, x):
        self.cfg.n = dataclasses.replace(self.cfg, n=self.cfg.n + 1).n
        return x * self.cfg.n

    return Model(body, cfg=Config()), (t(3),)


@refused(STATE)
def frozen_dataclass_by_object_setattr():
    import dataclasses

    @dataclasses.dataclass(frozen=True)
    class Config:
        n: int = 1

    def body(self, x):
        object.__setattr__(self.cfg, "n", self.cfg.n + 1)
        return x * self.cfg.n

    return Model(body, cfg=Config()), (t(3),)
