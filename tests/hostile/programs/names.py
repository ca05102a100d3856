"""Names of arguments, parameters and buffers that generated code uses itself"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


@equal
def argument_called_output():
    def f(output, target):
        return output * 2 + target, output.relu()

    return f, (t(4, 3), t(4, 3))


@equal
def output_in_regions_and_branches():
    def f(output, target):
        with torch.no_grad():
            y = output * 2
        return torch.cond(y.sum() > 0, lambda output: output + 1, lambda output: output - 1, (output,)) + y + target

    return f, (t(4, 3), t(4, 3))


@equal
def keyword_called_output():
    def f(x, *, output, output_1):
        return x + output * output_1

    return f, (t(3),), {"output": t(3), "output_1": t(3)}


@equal
def arguments_called_as_operators():
    def f(add, mul_1, sum, sum_1, max, abs, getitem, add_1):
        return (add + mul_1 * sum).sum() + sum_1.sum() + max.max() + abs.abs(), getitem.split(2)[1] + add_1

    return f, (*(t(3) for _ in range(6)), t(4), t(2))


@equal
def arguments_called_as_what_modules_have():
    class M(nn.Module):
        def forward(self_, self, graph, forward, training, meta, code, state_dict):
            return self + graph + forward + training + meta + code + state_dict

    return M(), tuple(t(3) for _ in range(7))


@equal
def arguments_called_as_what_generated_code_says():
    def f(torch, device, inf, nan, pytree, fx_pytree, NoneType):
        y = torch.new_full((3,), float("inf"))
        return y + device + inf * nan + pytree + fx_pytree + NoneType

    return f, tuple(t(3) for _ in range(7))


@equal
def arguments_called_as_symbols():
    def f(s0, u0, L, s77, zuf0, Eq, Max):
        return s0 + u0 + L + s77 + zuf0 + Eq + Max, s0.shape[0] * 2

    n = torch.export.Dim("s0", min=2, max=9)
    return Case(f, tuple(t(3) for _ in range(7)), dynamic_shapes=({0: n},) * 7)


@equal
def names_not_in_ascii():
    def f(größe, μ, 变量, naïve):
        return größe + μ * 变量 - naïve

    return f, tuple(t(3) for _ in range(4))


@equal
def rest_of_the_arguments_beside_its_name():
    def f(args_0, *args, **kwargs):
        return args_0 + args[0] * 2 + args[1] + kwargs["args_1"]

    return f, (t(3), t(3), t(3)), {"args_1": t(3)}


@equal
def renamed_argument_beside_its_new_name():
    def f(device, *, device_1):
        return device + 2 * device_1 + torch.zeros(3, device="cpu")

    return f, (t(3),), {"device_1": t(3)}


@equal
def nested_and_flat_names_that_agree():
    def f(x_1, x, x_1_1):
        return x_1 + x[1] * 2 + x[0] - x_1_1

    return f, (t(3), [t(3), t(3)], t(3))


@equal
def dict_keys_with_quotes():
    def f(x, d):
        return x + d["a'b"] * d['a"b'] - d["a]['b"] + d["{x}"] + d["L['x']"]

    n = torch.export.Dim("n", min=2, max=9)
    keys = ("a'b", 'a"b', "a]['b", "{x}", "L['x']")
    shapes = ({0: n}, {key: {0: n} for key in keys})
    return Case(f, (t(3), {key: t(3) for key in keys}), also=[((t(4), {key: t(4) for key in keys}), {})],
                dynamic_shapes=shapes)  # fmt: skip


@equal
def dict_keys_that_are_keywords():
    def f(d):
        return d["in"] + d["class"] * d["self"] - d[""] + d["0"] + d[0]

    return f, ({key: t(3) for key in ("in", "class", "self", "", "0", 0)},)


class Holder(nn.Module):
    """Two parameters and a buffer whose names agree after mangling."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.a_b = nn.Module(), nn.Module()
        self.a.b_c, self.a_b.c = nn.Parameter(t(3)), nn.Parameter(t(3))
        self.A, self.a_ = nn.Parameter(t(3)), nn.Parameter(t(3))
        self.register_buffer("p_a_b_c", t(3))


@equal
def state_that_agrees_after_mangling():
    class M(Holder):
        def forward(self, p_a_b_c, p_a, b_p_a_b_c):
            return p_a_b_c * self.a.b_c + self.a_b.c * 2 + self.p_a_b_c + self.A + p_a + b_p_a_b_c * self.a_

    return M(), (t(3), t(3), t(3))


def _with_parameter(name: str) -> nn.Module:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_parameter(name, nn.Parameter(t(3)))

        def forward(self, x):
            return x * self._parameters[name]

    return M()


@equal
def parameter_called_output():
    return _with_parameter("output"), (t(3),)


@equal
def parameter_with_a_blank():
    return _with_parameter("a b-c'd"), (t(3),)


@refused("invalid-arguments")
def parameter_called_graph():
    return _with_parameter("graph"), (t(3),)


@refused("invalid-arguments")
def parameter_called_self():
    return _with_parameter("self"), (t(3),)


@refused("invalid-arguments")
def submodule_called_global():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleDict({"global": nn.Linear(3, 3), "local": nn.Linear(3, 3)})

        def forward(self, x):
            return self.heads["global"](x) + self.heads["local"](x)

    return M(), (t(2, 3),)


@equal
def submodules_called_forward_and_add():
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleDict({"add": nn.Linear(3, 3), "submod_1": nn.Linear(3, 3)})

        def forward(self, x):
            with torch.no_grad():
                y = self.heads["add"](x)
            return y + self.heads["submod_1"](x)

    return M(), (t(2, 3),)


@refused("invalid-arguments")
def keyword_that_is_one_of_python():
    def f(x, **kw):
        return x + kw["in"]

    return f, (t(3),), {"in": t(3)}


@refused("invalid-arguments")
def keyword_called_torch():
    def f(x, *, torch):
        return x + torch

    return f, (t(3),), {"torch": t(3)}


@refused("invalid-arguments")
def keyword_that_hides_a_device():
    def f(x, *, device=None):
        return x + torch.zeros(3, device="cpu")

    return f, (t(3),), {"device": None}


@equal
def keyword_called_device_that_hides_nothing():
    def f(x, *, device=None, inf=1):
        return x + inf

    return f, (t(3),), {"device": None, "inf": 2}


@refused("invalid-arguments")
def keyword_called_self():
    def f(x, **kw):
        return x + kw["self"]

    return f, (t(3),), {"self": t(3)}


def _numbered(*, by_keyword: bool):
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.Sequential(nn.Linear(3, 3))

        if by_keyword:

            def forward(self, x, *, getattr):
                return self.blocks(x) * getattr

        else:

            def forward(self, x, getattr):
                return self.blocks(x) * getattr

    return M()


@equal
def argument_called_getattr_beside_a_module_with_a_number():
    return _numbered(by_keyword=False), (t(2, 3), t(3))


@refused("invalid-arguments")
def keyword_called_getattr_beside_a_module_with_a_number():
    return _numbered(by_keyword=True), (t(2, 3),), {"getattr": t(3)}


@equal
def keyword_called_getattr():
    def f(x, *, getattr):
        return x * getattr

    return f, (t(3),), {"getattr": t(3)}
