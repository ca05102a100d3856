"""Programs whose guards hold while nothing changes, though what they read is awkward to compare."""

from __future__ import annotations

import collections
import enum
import functools
import threading
import types
import weakref
from typing import Any

import torch
from torch import nn

from tests.hostile.changes import Box, Changes, Module, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


def _hooked(prepend: bool, **options: Any) -> Changes:
    layer = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    layer[0].register_forward_hook(lambda module, args, output: output + 1)
    layer[0].register_forward_hook(lambda module, args, output, **kw: output * 2, prepend=prepend, **options)
    made = Changes(layer, {})
    made.told = {"one more": lambda: layer[0].register_forward_hook(lambda module, args, out: out + 5) and None}
    return made


@row
def prepended_hook() -> Changes:
    return _hooked(True)


@row
def appended_hook() -> Changes:
    return _hooked(False)


@row
def prepended_hook_with_keywords() -> Changes:
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda module, args, output: output + 1)
    layer.register_forward_hook(lambda module, args, kwargs, output: output * 2, prepend=True, with_kwargs=True)
    made = Changes(layer, {})
    made.told = {"gone": lambda: layer._forward_hooks.popitem()}
    return made


@row
def prepended_pre_hook() -> Changes:
    layer = nn.Linear(3, 3)
    layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,), prepend=True)
    made = Changes(layer, {})
    made.told = {"order": lambda: layer._forward_pre_hooks.move_to_end(next(iter(layer._forward_pre_hooks)))}
    return made


@row
def always_called_hook() -> Changes:
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda module, args, output: output + 1, always_call=True)
    return Changes(layer, {"gone": lambda: layer._forward_hooks.clear()})


@row
def ordered_dict_moved_before() -> Changes:
    d = collections.OrderedDict(a=1, b=2, c=3)
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    made = _of(lambda s: functools.reduce(lambda e, v: e * 10 + v, s.d.values()), d=d)
    made.told = {"order": lambda: d.move_to_end("a", last=False)}
    return made


@row
def ordered_dict_moved_before_and_unpacked() -> Changes:
    d = collections.OrderedDict(a=1, b=2)
    d.move_to_end("a")
    made = _of(lambda s: next(iter(s.d.items()))[1] + len({**s.d}), d=d)
    made.told = {"order": lambda: d.move_to_end("b")}
    return made


@row
def name_of_a_metaclass() -> Changes:
    class Meta(type):
        pass

    class Plain(metaclass=Meta):
        pass

    return _of(
        lambda s: len(type(type(s.p)).__name__) + len(type(s.p).__name__) + len(s.p.__class__.__name__), p=Plain()
    )


@row
def name_property_of_a_metaclass() -> Changes:
    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            return "abc"

    class Plain(metaclass=Meta):
        pass

    return _of(lambda s: len(s.c.__name__), c=Plain)


@row
def attributes_of_a_metaclass_instance() -> Changes:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            return super().__getattribute__(name)

    class Plain(metaclass=Meta):
        n = 3

        def f(self) -> int:
            return self.n

    made = _of(lambda s: s.c.n + s.c().f() + s.p.f(), c=Plain, p=Plain())
    made.told = {"value": setter(Plain, "n", 5)}
    return made


class _OnlySet:
    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__["n"] = value + 1


@row
def descriptor_with_only_set() -> Changes:
    class Plain:
        n = _OnlySet()

    plain = Plain()
    plain.n = 3
    made = _of(lambda s: s.p.n, p=plain)
    made.told = {"value": setter(plain, "n", 8), "gone": lambda: plain.__dict__.clear()}
    return made


@row
def descriptor_with_only_set_and_no_value() -> Changes:
    class Held(_OnlySet):
        m = 3

    class Plain:
        n = Held()

    plain = Plain()
    made = _of(lambda s: s.p.n.m, p=plain)
    made.told = {"state": setter(vars(Plain)["n"], "m", 8), "instance": lambda: plain.__dict__.update(n=Box(m=8))}
    return made


@row
def descriptor_with_only_set_of_a_module() -> Changes:
    class Plain(nn.Module):
        n = _OnlySet()

        def forward(self, x: Any) -> Any:
            return x * self.n

    plain = Plain()
    plain.__dict__["n"] = 3
    made = Changes(plain, {})
    made.told = {"value": lambda: plain.__dict__.update(n=9)}
    return made


@row
def descriptor_with_only_delete() -> Changes:
    class OnlyDelete:
        def __delete__(self, owner: Any) -> None:
            pass

    class Plain:
        n = OnlyDelete()

    plain = Plain()
    plain.__dict__["n"] = 3
    made = _of(lambda s: s.p.n, p=plain)
    made.told = {"value": lambda: plain.__dict__.update(n=9)}
    return made


@row
def slot_with_a_class_attribute_below() -> Changes:
    class Base:
        n = 3

    class Plain(Base):
        __slots__ = ("m",)

    plain = Plain()
    plain.m = 4
    made = _of(lambda s: s.p.n + s.p.m, p=plain)
    made.told = {"value": setter(plain, "m", 9)}
    return made


@row
def not_a_number() -> Changes:
    made = _of(lambda s: 2 if s.n != s.n else 3, n=float("nan"))
    made.told = {"value": setter(made.program.held, "n", 1.0)}
    made.held = {"another": setter(made.program.held, "n", float("inf") - float("inf"))}
    return made


@row
def not_a_number_in_containers() -> Changes:
    nan = float("nan")
    made = _of(
        lambda s: sum(v != v for v in s.xs) + len(s.d) + sum(v != v for v in s.t) + len(s.f),
        xs=[nan, 1.0],
        d={nan: 1},
        t=(nan, (nan, 2)),
        f=frozenset([nan]),
    )
    made.told = {"list": lambda: made.program.held.xs.__setitem__(0, 1.0)}
    return made


@row
def not_a_number_as_a_default() -> Changes:
    def f(a: float = float("nan")) -> int:
        return 2 if a != a else 3

    made = _of(lambda s: s.f(), f=f)
    made.told = {"default": setter(f, "__defaults__", (1.0,))}
    return made


@row
def not_a_number_in_tensors_and_complex() -> Changes:
    nan = float("nan")
    made = _of(lambda s: s.t + (2 if s.c != s.c else 3), t=torch.tensor([nan, 1.0, 2.0]), c=complex(nan, 1))
    made.told = {"complex": setter(made.program.held, "c", 1j)}
    return made


class _Hostile:
    """Its comparisons raise."""

    n = 3

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __hash__ = object.__hash__


@row
def objects_whose_comparison_raises() -> Changes:
    one = _Hostile()
    made = _of(lambda s: s.h.n + s.xs[0].n + s.d[s.h] + len(s.st), h=one, xs=[one], d={one: 4}, st={one})
    made.told = {"value": setter(one, "n", 9), "item": lambda: made.program.held.d.__setitem__(one, 8)}
    return made


@row
def objects_whose_comparison_raises_walked() -> Changes:
    made = _of(lambda s: sum(h.n for h in s.xs) + sum(h.n for h in s.d), xs=[_Hostile()], d={_Hostile(): 1})
    made.told = {"value": setter(made.program.held.xs[0], "n", 9)}
    return made


class _Elementwise:
    """Its comparisons give tensors."""

    def __init__(self) -> None:
        self.n = 3

    def __eq__(self, other: object) -> Any:
        return torch.ones(3) == 1

    __hash__ = object.__hash__


@row
def objects_whose_comparison_gives_tensors() -> Changes:
    made = _of(lambda s: s.h.n + s.xs[0].n, h=_Elementwise(), xs=[_Elementwise()])
    made.told = {"value": setter(made.program.held.xs[0], "n", 9)}
    return made


class _Floats(float):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = float.__hash__


class _Texts(str):
    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


@row
def subclasses_of_atoms_with_comparisons_of_their_own() -> Changes:
    made = _of(lambda s: float(s.a + 1) + len(s.b + "") + s.d[s.b], a=_Floats(3), b=_Texts("ab"), d={})
    made.program.held.d[made.program.held.b] = 4
    made.told = {
        "float": setter(made.program.held, "a", _Floats(4)),
        "text": setter(made.program.held, "b", _Texts("a")),
    }
    return made


@row
def cyclic_list() -> Changes:
    xs: list[Any] = [3]
    xs.append(xs)
    made = _of(lambda s: s.xs[1][1][0] + len(s.xs), xs=xs)
    made.told = {"item": lambda: xs.__setitem__(0, 5), "no cycle": lambda: xs.__setitem__(1, [1, [2]])}
    return made


@row
def cyclic_list_walked() -> Changes:
    import copy

    xs: list[Any] = [3]
    xs.append({"a": xs})
    made = _of(lambda s: copy.deepcopy(s.xs)[1]["a"][0], xs=xs)
    made.told = {"item": lambda: xs.__setitem__(0, 5)}
    return made


@row
def cyclic_objects() -> Changes:
    one, two = Box(n=3), Box(n=4)
    one.other, two.other = two, one
    made = _of(lambda s: s.one.other.other.other.n, one=one)
    made.told = {"value": setter(two, "n", 9), "no cycle": setter(one, "other", one)}
    return made


@row
def cyclic_objects_printed() -> Changes:
    xs: list[Any] = [3]
    xs.append(xs)
    made = _of(lambda s: len(str(s.xs)), xs=xs)
    made.told = {"item": lambda: xs.__setitem__(0, 500)}
    return made


@row
def lazily_made_attribute() -> Changes:
    class Plain:
        m = 3

        def __getattr__(self, name: str) -> int:
            if name != "n":
                raise AttributeError(name)
            self.n = self.m + 1
            return self.n

    plain = Plain()
    return _of(lambda s: s.p.n, p=plain)


@row
def lazily_made_cached_property() -> Changes:
    class Plain:
        m = 3

        @functools.cached_property
        def n(self) -> int:
            return self.m

    return _of(lambda s: s.p.n, p=Plain())


@row
def property_with_a_side_effect() -> Changes:
    class Plain:
        def __init__(self) -> None:
            self.seen = False

        @property
        def n(self) -> int:
            self.seen = True
            return 3

    return _of(lambda s: s.p.n, p=Plain())


@row
def property_that_raises() -> Changes:
    class Plain:
        @property
        def n(self) -> int:
            raise AttributeError("n")

    made = _of(lambda s: getattr(s.p, "n", 3), p=Plain())
    made.told = {"property": setter(Plain, "n", property(lambda self: 5))}
    return made


@row
def property_that_raises_with_getattr() -> Changes:
    class Plain:
        m = 3

        @property
        def n(self) -> int:
            raise AttributeError("n")

        def __getattr__(self, name: str) -> int:
            return self.m

    made = _of(lambda s: s.p.n, p=Plain())
    made.told = {"value": setter(Plain, "m", 5), "property": setter(Plain, "n", property(lambda self: 5))}
    return made


@row
def weak_containers() -> Changes:
    keys = [Box(n=1), Box(n=2)]
    made = _of(
        lambda s: len(s.ws) + sum(k.n for k in s.wk) + sum(v.n for v in s.wv.values()),
        ws=weakref.WeakSet(keys),
        wk=weakref.WeakKeyDictionary(dict.fromkeys(keys, 1)),
        wv=weakref.WeakValueDictionary(enumerate(keys)),
        keys=keys,
    )
    made.told = {"value": setter(keys[0], "n", 5)}
    return made


@row
def objects_made_by_each_read() -> Changes:
    class Plain:
        @property
        def n(self) -> list[int]:
            return [3]

    return _of(lambda s: s.p.n[0] + (1 if s.p.n is s.p.n else 0), p=Plain())


@row
def bound_methods_compared() -> Changes:
    class Plain:
        def f(self) -> int:
            return 3

    plain = Plain()
    return _of(lambda s: (2 if s.p.f == s.f else 3) + s.f(), p=plain, f=plain.f)


@row
def lock_used() -> Changes:
    def f(s: Any) -> int:
        with s.lock:
            return s.n  # type: ignore[no-any-return]

    made = _of(f, lock=threading.Lock(), n=3)
    made.told = {"value": setter(made.program.held, "n", 5)}
    return made


@row
def reentrant_lock_used_twice() -> Changes:
    def f(s: Any) -> int:
        with s.lock, s.lock:
            return s.n  # type: ignore[no-any-return]

    return _of(f, lock=threading.RLock(), n=3)


@row
def flags_and_aliases_of_an_enum() -> Changes:
    class Kind(enum.Flag):
        A = 1
        B = 2
        BOTH = 3

    made = _of(lambda s: (s.k | Kind.B).value + (2 if Kind.A in s.k else 1) + len(s.k.name), k=Kind.A)
    made.told = {"value": setter(made.program.held, "k", Kind.BOTH)}
    return made


@row
def flag_without_a_name() -> Changes:
    class Kind(enum.Flag):
        A = 1
        B = 2
        C = 4

    made = _of(lambda s: 2 if Kind.C in s.k else s.k.value, k=Kind.A | Kind.B)
    made.told = {"value": setter(made.program.held, "k", Kind.A)}
    return made


@row
def types_and_aliases() -> Changes:
    made = _of(
        lambda s: len(s.a.__args__) + (1 if isinstance(3, s.u) else 2) + len(s.m.__name__),
        a=list[int],
        u=int | str,
        m=types.ModuleType("made_up"),
    )
    made.told = {"alias": setter(made.program.held, "a", dict[int, str])}
    return made


@row
def class_with_a_dict_of_its_own() -> Changes:
    class Plain:
        def __init__(self) -> None:
            object.__setattr__(self, "held", {"n": 3})

        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                return {}
            held = object.__getattribute__(self, "held")
            return held[name] if name in held else object.__getattribute__(self, name)

    plain = Plain()
    made = _of(lambda s: s.p.n, p=plain)
    made.told = {"value": lambda: object.__getattribute__(plain, "held").__setitem__("n", 4)}
    return made


@row
def object_that_counts_its_reads() -> Changes:
    class Plain:
        n = 3

        def __getattribute__(self, name: str) -> Any:
            return object.__getattribute__(self, name)

    made = _of(lambda s: s.p.n, p=Plain())
    made.told = {"class": setter(Plain, "n", 4), "instance": setter(made.program.held.p, "n", 5)}
    return made


@row
def parametrized_layer() -> Changes:
    from torch.nn.utils import parametrize

    class Twice(nn.Module):
        def forward(self, w: Any) -> Any:
            return w * 2

    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Twice())
    made = Changes(layer, {})
    made.told = {"removed": lambda: parametrize.remove_parametrizations(layer, "weight", False) and None}
    return made


@row
def weight_norm() -> Changes:
    layer = torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    return Changes(layer, {})


@row
def dropped_out_module_and_shared_layers() -> Changes:
    shared = nn.Linear(3, 3)
    made = Changes(nn.Sequential(shared, nn.Dropout(0.0), shared), {})
    made.told = {"no longer shared": lambda: made.program.__setitem__(2, nn.Linear(3, 3))}
    return made
