"""Functions that are marked for a compiler or a mesh, and compute what they compute"""

from __future__ import annotations

import torch
from torch import nn
from torch._higher_order_ops import InvokeQuant, invoke_quant_packed, local_map_hop
from torch._higher_order_ops._invoke_quant import invoke_quant
from torch._higher_order_ops.base_hop import FunctionWithNoFreeVars
from torch.distributed.tensor.experimental import local_map
from torch.distributed.tensor.placement_types import Replicate
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t

SCALE = torch.tensor([1.0, 2.0, 3.0])
COUNT = [0]


def two() -> tuple[torch.Tensor, torch.Tensor]:
    return t(2, 3), t(2, 3)


def local(function):
    module = torch.fx.symbolic_trace(function)
    module.meta["local_map_kwargs"] = {"in_placements": (Replicate(),) * 2, "out_placements": ((Replicate(),),)}
    return module


@equal
def quant_of_one_result():
    return (lambda x, y: InvokeQuant()(lambda a, b: a.sin() + b, x, y) * 2), two()


@equal
def quant_with_a_scheme():
    return (lambda x, y: InvokeQuant()(lambda a, b: (a + b, a * b), x, y, scheme="nf4")), two()


@equal
def quant_with_options():
    return (lambda x, y: InvokeQuant(codegen_low_precision=False)(lambda a: {"r": a.cos()}, x)["r"] + y), two()


@equal
def quant_over_a_global_and_a_parameter():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x, y):
            return InvokeQuant()(lambda a: torch.relu(self.linear(a)) * SCALE, x, scheme="nf4") + y

    return Module(), two()


@equal
def quant_of_a_dynamic_size():
    def f(x, y):
        return InvokeQuant()(lambda a, b: (a @ b.t()) * a.shape[0], x, y)

    n = Dim("n", min=1, max=20)
    also = [((t(n, 3), t(n, 3)), {}) for n in (1, 6)]
    return Case(f, two(), dynamic_shapes=({0: n}, {0: n}), also=also)


@equal
def quant_twice_and_nested():
    quant = InvokeQuant()

    def f(x, y):
        inner = lambda a: quant(lambda b: b * 2, a) + 1  # noqa: E731
        return quant(inner, x) + quant(inner, y)

    return f, two()


@equal
def quant_where_gradients_are_taken():
    return (lambda x: InvokeQuant()(lambda a: a.sin() * 2, x)), (t(3, requires_grad=True),)


@equal
def packed_operator_itself():
    return (lambda x, y: invoke_quant_packed(lambda a: (torch.sin(a),), x)[0] * y), two()


@equal
def unpacked_operator_itself():
    return (lambda x, y: invoke_quant(FunctionWithNoFreeVars(lambda a, b: (a + b,)), x, y)[0]), two()


@refused("subgraph-effect")
def quant_of_a_function_that_counts():
    def f(x):
        def g(a):
            COUNT[0] += 1
            return a + 1

        return InvokeQuant()(g, x)

    return f, (t(3),)


@refused("subgraph-mutates")
def quant_of_a_function_that_changes_its_operand():
    return (lambda x: InvokeQuant()(lambda a: a.add_(1) * 2, x * 1)), (t(3),)


@equal
def local_map_operator():
    module = local(lambda a, b: a.cos() + b.sin())
    return (lambda x, y: local_map_hop(module, x, y) * 2), two()


@equal
def local_map_operator_of_two_results():
    module = local(lambda a, b: (a.cos(), b.sin()))
    return (lambda x, y: sum(local_map_hop(module, x, y))), two()


@equal
def local_map_operator_where_gradients_are_taken():
    module = local(lambda a, b: a * b)
    return (lambda x, y: local_map_hop(module, x, y)), (t(2, 3, requires_grad=True), t(2, 3))


@equal
def local_map_of_plain_tensors():
    def f(x, y):
        return local_map(lambda a, b: torch.mm(a, b.t()), out_placements=[Replicate()])(x, y)

    return f, two()


@refused("python-state")
def local_map_of_a_function_that_counts():
    def f(x, y):
        def g(a, b):
            COUNT[0] += 1
            return a + b * COUNT[0]

        return local_map(g, out_placements=[Replicate()])(x, y)

    return f, two()
