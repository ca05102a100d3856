"""State of the process: environment, modules, builtins, hooks, torch's settings."""

from __future__ import annotations

import builtins
import os
import sys
import types
from typing import Any

import torch
from torch import nn

from tests.hostile.changes import Changes, Module, item, row, setter

NAME = "DYNAMO_LITE_HOSTILE_TEST"


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


def _environment(value: str) -> Any:
    def make() -> Any:
        os.environ[NAME] = value
        return lambda: os.environ.pop(NAME, None)

    return make


def _module(name: str = "dynamo_lite_hostile_module", **names: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module
    return module


def _undo(owner: Any, name: str, value: Any) -> Any:
    def make() -> Any:
        before = getattr(owner, name)
        setattr(owner, name, value)
        return lambda: setattr(owner, name, before)

    return make


@row
def environment_get() -> Changes:
    return Changes(_of(lambda s: len(os.environ.get(NAME, "abc"))).program, {"set": _environment("a")})


@row
def environment_getenv() -> Changes:
    return Changes(_of(lambda s: len(os.getenv(NAME, "abc"))).program, {"set": _environment("a")})


@row
def environment_in() -> Changes:
    return Changes(_of(lambda s: 2 if NAME in os.environ else 3).program, {"set": _environment("a")})


@row
def environment_item_missing() -> Changes:
    def f(s: Any) -> int:
        try:
            return len(os.environ[NAME])
        except KeyError:
            return 7

    return Changes(_of(f).program, {"set": _environment("a")})


@row
def environment_iterated() -> Changes:
    made = _of(lambda s: len([name for name in os.environ if name == NAME]) + 1)
    made.told = {"set": _environment("a")}
    return made


@row
def environment_length() -> Changes:
    return Changes(_of(lambda s: len(os.environ)).program, {"set": _environment("a")})


@row
def environment_bytes() -> Changes:
    return Changes(_of(lambda s: len(os.environb.get(NAME.encode(), b"abc"))).program, {"set": _environment("a")})


@row
def environment_expanded() -> Changes:
    return Changes(_of(lambda s: len(os.path.expandvars(f"${NAME}"))).program, {"set": _environment("a")})


@row
def module_in_sys_modules() -> Changes:
    def gone() -> Any:
        sys.modules["dynamo_lite_absent"] = types.ModuleType("dynamo_lite_absent")
        return lambda: sys.modules.pop("dynamo_lite_absent")

    return Changes(_of(lambda s: 2 if "dynamo_lite_absent" in sys.modules else 3).program, {"it appears": gone})


@row
def module_imported_in_forward() -> Changes:
    module = _module(n=3)

    def f(s: Any) -> int:
        import dynamo_lite_hostile_module  # type: ignore[import-not-found]

        return dynamo_lite_hostile_module.n  # type: ignore[no-any-return]

    made = _of(f)
    made.told = {"value": setter(module, "n", 4), "module": lambda: _module(n=5) and None}
    return made


@row
def name_imported_in_forward() -> Changes:
    module = _module(n=3)

    def f(s: Any) -> int:
        from dynamo_lite_hostile_module import n

        return n  # type: ignore[no-any-return]

    made = _of(f)
    made.told = {"value": setter(module, "n", 4), "module": lambda: _module(n=5) and None}
    return made


@row
def module_getattr() -> Changes:
    table = {"n": 3}
    module = _module(table=table, __getattr__=lambda name: table[name])

    made = _of(lambda s: s.m.n, m=module)
    made.told = {
        "value": item(table, "n", 4),
        "attribute": setter(module, "n", 5),
        "__getattr__": setter(module, "__getattr__", lambda name: 9),
    }
    return made


@row
def missing_attribute_of_a_module() -> Changes:
    module = _module()
    made = _of(lambda s: getattr(s.m, "n", 3), m=module)
    made.told = {"it appears": setter(module, "n", 4), "__getattr__": setter(module, "__getattr__", lambda name: 9)}
    return made


@row
def class_of_a_module() -> Changes:
    class Fancy(types.ModuleType):
        @property
        def n(self) -> int:
            return self.m  # type: ignore[no-any-return]

    module = _module(m=3)
    module.__class__ = Fancy
    made = _of(lambda s: s.m.n, m=module)
    made.told = {"value": setter(module, "m", 4), "property": setter(Fancy, "n", property(lambda self: 8))}
    return made


@row
def dict_of_a_module() -> Changes:
    module = _module(n=3)
    made = _of(lambda s: vars(s.m)["n"] + len([k for k in dir(s.m) if k == "k"]), m=module)
    made.told = {"value": setter(module, "n", 4), "one more": setter(module, "k", 4)}
    return made


@row
def getattr_of_a_module() -> Changes:
    module = _module(n=3)
    made = _of(lambda s: getattr(sys.modules["dynamo_lite_hostile_module"], "n"))  # noqa: B009
    made.told = {"value": setter(module, "n", 4)}
    return made


@row
def function_of_another_module() -> Changes:
    module = _module(n=3)
    exec("def f():\n    return n\ndef g():\n    return f() + 1", module.__dict__)
    made = _of(lambda s: s.m.g(), m=module)
    made.told = {"value": setter(module, "n", 4), "function": setter(module, "f", lambda: 9)}
    return made


@row
def builtin_replaced() -> Changes:
    made = _of(lambda s: len([1, 2]))
    made.told = {"builtin": _undo(builtins, "len", lambda xs: 9)}
    return made


@row
def builtin_added() -> Changes:
    def f(s: Any) -> int:
        try:
            return dynamo_lite_made_up  # type: ignore[name-defined, no-any-return]
        except NameError:
            return 3

    def add() -> Any:
        builtins.dynamo_lite_made_up = 5  # type: ignore[attr-defined]
        return lambda: delattr(builtins, "dynamo_lite_made_up")

    made = _of(f)
    made.told = {"builtin": add}
    return made


@row
def function_of_torch_replaced() -> Changes:
    made = Changes(Module(lambda s, x: torch.relu(x - 3)), {"replaced": _undo(torch, "relu", torch.tanh)})
    made.told = {**made.told}
    return made


@row
def functional_replaced() -> Changes:
    from torch.nn import functional

    return Changes(Module(lambda s, x: functional.gelu(x)), {"replaced": _undo(functional, "gelu", torch.tanh)})


@row
def functional_replaced_below_a_layer() -> Changes:
    from torch.nn import functional

    def double(x: Any, approximate: str = "") -> Any:
        return x * 2

    return Changes(nn.GELU(), {"replaced": _undo(functional, "gelu", double)})


@row
def method_of_tensor_replaced() -> Changes:
    made = Changes(Module(lambda s, x: x.neg()), {})
    made.told = {"replaced": lambda: _shadow(torch.Tensor, "neg", lambda self: self + 5)}
    return made


def _shadow(owner: Any, name: str, value: Any) -> Any:
    setattr(owner, name, value)
    return lambda: delattr(owner, name)


@row
def method_of_a_layer_replaced() -> Changes:
    layer = nn.Linear(3, 3)
    made = Changes(layer, {})
    made.told = {
        "on the instance": setter(layer, "forward", lambda x: x),
        "class": setter(layer, "__class__", type("Linear2", (nn.Linear,), {"forward": lambda self, x: x * 2})),
        "call": lambda: _undo(nn.Linear, "forward", lambda self, x: x * 3)(),
    }
    return made


@row
def default_dtype() -> Changes:
    def change() -> Any:
        torch.set_default_dtype(torch.float64)
        return lambda: torch.set_default_dtype(torch.float32)

    return Changes(Module(lambda s, x: x + torch.ones(3)), {"dtype": change})


@row
def recursion_limit_and_flags() -> Changes:
    def change() -> Any:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(before + 7)
        return lambda: sys.setrecursionlimit(before)

    return Changes(Module(lambda s, x: x * sys.getrecursionlimit()), {"limit": change})


@row
def attribute_of_sys() -> Changes:
    return Changes(Module(lambda s, x: x * len(sys.argv)), {"argv": _undo(sys, "argv", ["a"] * 11)})


@row
def search_path() -> Changes:
    def change() -> Any:
        sys.path.append("nowhere")
        return lambda: sys.path.remove("nowhere")

    return Changes(Module(lambda s, x: x * len(sys.path)), {"one more": change})


@row
def pytree_registration() -> Changes:
    from torch.utils import _pytree as pytree

    class Pair:
        def __init__(self, a: Any) -> None:
            self.a = a

    def change() -> Any:
        pytree.register_pytree_node(
            Pair, lambda pair: ([pair.a, pair.a], None), lambda values, context: Pair(values[0])
        )
        return lambda: pytree._deregister_pytree_node(Pair)

    made = _of(lambda s: len(pytree.tree_leaves(s.pair)), pair=Pair(3))
    made.told = {"registration": change}
    return made


@row
def weakref_of_a_module_global() -> Changes:
    module = _module(xs=[1, 2])
    made = _of(lambda s: s.m.xs[1], m=module)
    made.told = {"item": item(module.xs, 1, 5), "list": setter(module, "xs", (1, 9))}
    return made


@row
def number_of_threads() -> Changes:
    made = _of(lambda s: torch.get_num_threads())
    before = torch.get_num_threads()

    def more() -> Any:
        torch.set_num_threads(before + 1)
        return lambda: torch.set_num_threads(before)

    made.told = {"number": more}
    return made


@row
def two_tensors_that_are_one() -> Changes:
    made = _of(lambda s: 2 if s.one is s.other else 3, one=torch.ones(2), other=torch.ones(2))
    made.told = {"one": lambda: setattr(made.program.held, "other", made.program.held.one)}
    made.held = {"another": setter(made.program.held, "other", torch.ones(2))}
    return made
