"""Integers of data beyond 64 bits: exact as in eager, or an error of the program that says why."""

from __future__ import annotations

import pytest
import torch

import dynamo_lite

LARGE = 10**18
WORDS = "does not fit into 64 bits"


def fibonacci(x):
    a, b = int(x.sum()), 1
    for _ in range(95):
        a, b = b, a + b
    return x + a % 7


def product(x):
    return 10**17 * x.sum().item() % 1009


def returned(x):
    n = x.sum().item()
    return n * n * n


def hashed(x):
    h = 1469598103934665603
    for i in range(3):
        h = (h ^ x[i].item()) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return x + h % 1000


def compared(x):
    n = x.sum().item()
    return x + 1 if n * LARGE > 5 * LARGE else x - 1


@pytest.mark.parametrize("function", [fibonacci, product, returned, hashed, compared], ids=lambda f: f.__name__)
def test_python_integers_have_any_size(function):
    program = dynamo_lite.export(_program(function), (torch.tensor([1, 2, 3]),)).module()
    for x in map(torch.tensor, ([1, 2, 3], [100, -20, 3], [2**40, 2**40, -5], [-7, 0, 0])):
        assert repr(program(x)) == repr(function(x))


def one_side(x):
    return x + (x[0].item() * LARGE if x[1] > 0 else x[1].item()) % 1000


def an_entry(x):
    d = {"n": x[0].item() * LARGE}
    if x[1] > 0:
        d["n"] += x[0].item() * LARGE
    return x + d["n"] % 1000


def rounds(x):
    n, i = x[0].item(), 0
    while x.sum() > 0 and i < 40:
        n, i, x = n * 3, i + 1, x - 1
    return x + n % 1000


def iterations_of_sums(x):
    a, b, n = x[0].item(), 1, 0
    while x.sum() < 300:
        a, b, n, x = b, a + b, n + 1, x + 1
    return x + a % 1000 + n


def an_item(x):
    return x + [x[0].item() * LARGE, 3][x[2].item()] % 1000


def items_summed(x):
    keep = []
    for i in range(3):
        if x[i] > 0:
            keep.append(x[i].item() * LARGE)
    return x + sum(keep) % 1000


def large_items_summed(x):
    keep = []
    for i in range(3):
        if x[i] != 0:
            keep.append(x[i].item())
    return x + sum(keep) // 3 % 1000


CALLS = {
    one_side: ([[1, 2, 3], [1, -2, 3], [9, -2, 3]], [[100, 2, 3]]),
    an_entry: ([[1, 2, 3], [9, -2, 3], [4, 2, 3]], [[5, 2, 3], [-5, 2, 3]]),
    rounds: ([[1, 2, 3], [2**60, 2, -(2**61)]], [[100, 200, 3]]),
    iterations_of_sums: ([[1, 100, 3], [-9, 0, 60]], [[2, -500, 3], [-3, -300, 2]]),
    an_item: ([[1, 2, 1], [9, 2, 0]], [[100, 2, 0], [-10, 2, 0]]),
    items_summed: ([[1, 2, 3], [0, 0, 0], [-9, 2, 7]], [[9, 9, 9], [5, 5, -1]]),
    large_items_summed: (
        [[1, 2, 3], [-(2**63), 0, 0], [2**62, 2**62 - 1, 0], [-(2**62), -(2**62), 0], [2**63 - 1, -5, 0]],
        [[2**62, 2**62, 0], [2**62, 2**62, 2**62], [-(2**63), -1, 0], [2**63 - 1, 1, 0]],
    ),
}


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_a_tensor_of_an_integer_holds_it_or_the_program_says_so(function):
    fits, beyond = CALLS[function]
    program = dynamo_lite.export(_program(function), (torch.tensor(fits[0]),)).module()
    for x in map(torch.tensor, fits):
        assert torch.equal(program(x.clone()), function(x))
    for x in map(torch.tensor, beyond):
        function(x)
        with pytest.raises(RuntimeError, match=WORDS) as error:
            program(x.clone())
        assert "test_wide_integers.py" in str(error.value)


def test_counters_get_no_assertion():
    def steps(x):
        n = x[0].item()
        m = n + 1 if x[1] > 0 else n // 2
        return x + m

    graph = dynamo_lite.export(_program(steps), (torch.tensor([1, 2]),)).graph_module
    nodes = [node for module in graph.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    assert not [node for node in nodes if "assert" in str(node.target)]


def _program(function):
    class Program(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Program()
