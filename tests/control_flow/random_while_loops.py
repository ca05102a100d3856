"""Random `while` loops (and `for` loops with `break`) that data end: lists, sizes that change, gradients.

For tests/control_flow/random_programs.py. Each loop ends for all inputs: `v` gets smaller in each round, before
anything that could leave the round.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from torch import nn

_VALUES = (
    *("{t} + {k}", "{t} * {f}", "{t} - {u}", "torch.maximum({t}, {u})", "{t}", "{t}.tanh() + v", "v * {f}", "-{t}"),
    *("torch.where({t} > 0, {t}, {u})", "{t} @ {u} * 0.1", "({t} if {cond} else {u})", "outs[-1] + {t}"),
)
_CONDITIONS = (
    *("{t}.sum() > {k}", "{t}.max() < {k}", "v.sum() > {t}.sum()", "v[0, 0] > 0", "v.norm() < {k}", "steps > {k}"),
    *("{t}.sum() > {k} and v.min() < 0", "len(outs) > {k}", "not {t}.min() > -{k}", "(v * 8).long().sum() % 2 == 0"),
)
_HEADS = (
    *("while v.norm() > {f}:", "while v.norm() > 0.4 and steps < {n}:", "while steps < {n} and v.norm() > 0.4:"),
    "while True:\n{pad}    if v.norm() < {f}:\n{pad}        break",
    *("while not v.norm() < {f}:", "while len(outs) < {n}:"),
    *("for i in range({n}):", "while ids.shape[0] < {n}:", "while v.abs().max() > 0.3 or steps < 2:"),
    *("for i in range(3 * {n}):", "while len(outs) < {n} and v.norm() > 0.3:", "while (v * {f}).abs().sum() > 1:"),
)
_SHRINKS = ("v = v * 0.5", "v = v * 0.6", "v = torch.tanh(v) * 0.7", "v = v - v * 0.5", "v = (v @ w) * 0.5")
_ROUND = (
    *(*(("{w} = {value}",) * 4), "outs.append({value})", "outs.append(v)", "outs.append({t})", "outs.append(v.sum())"),
    *("if {cond}:\n{pad}    outs.append({t})", "if {cond}:\n{pad}    break", "if {cond}:\n{pad}    continue"),
    *("if {cond}:\n{pad}    outs.append({t})\n{pad}    break", "if {cond}:\n{pad}    {w} = {value}", "last = outs[-1]"),
    *("if {cond}:\n{pad}    {w} = {value}\n{pad}else:\n{pad}    {u} = {value}", "outs += [{t}, v]"),
    "steps = steps + 1",
    *("ids = torch.cat([ids, v[:1].sum(1)])", "ids = torch.cat([ids, {t}.flatten()[:1]])", "outs = outs + [v]"),
    *("more.append(steps)", "more.append({t}.sum())", "ids = ids[ids > 0]", "pair = (v, steps)"),
    "table['p'] = {value}",
    *("if {cond}:\n{pad}    return {t}, steps", "outs[-1] = {t}", "ids = ids * 2", "{w}.mul_({f})", "outs[0] = v"),
)
_AFTER = (
    *("{w} = torch.stack(outs).sum(0) + {t} if outs else {t}", "steps = steps + len(outs)", "{w} = outs[-1] + {t}"),
    *("{w} = outs[0] + {t}", "for o in outs:\n{pad}    {w} = {w} * 0.5 + o", "{w} = {w} + ids.sum()", "ids = ids + 1"),
    *("{w} = {value}", "{w} = sum(outs, {w})", "steps = steps + len(more)", "outs.append({t})", "outs = outs[::-1]"),
    *("if {cond}:\n{pad}    {w} = {value}", "steps = steps + ids.shape[0]", "{w} = {w} + last", "{w} = {w} + pair[0]"),
)
_HEAD = """
def forward(self, x):
    w = self.w
    v, a, b, c, steps = x * 1, x * 2, x @ w, x - 1, 0
    outs, more, ids, last, pair, table = {outs}, [], x[0] * 1, x, (a, 1), {{"p": b * 1}}
"""
_TAIL = "\n    return v, a, b, c, steps, ids, last, pair, table\n"
_TAIL_OF_LISTS = "\n    return v, a, b, c, steps, ids, last, pair, table, outs\n"


class _Loops:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []

    def fill(self, text: str, indent: int) -> str:
        rng = self.rng
        for _ in range(3):
            text = text.replace("{value}", rng.choice(_VALUES), 1).replace("{cond}", rng.choice(_CONDITIONS), 1)
        names = {name: rng.choice("abc") for name in "tuw"}
        numbers = {"k": rng.randint(1, 4), "f": rng.choice((0.5, 1.5, 2)), "n": rng.randint(5, 14)}
        return text.format(**names, **numbers, pad="    " * indent, value="a", cond="steps > 1")

    def add(self, texts: tuple[str, ...], indent: int) -> None:
        self.lines.append("    " * indent + self.fill(self.rng.choice(texts), indent))

    def loop(self, indent: int, depth: int = 0) -> None:
        rng = self.rng
        head = rng.choice(_HEADS)
        self.lines.append("    " * indent + self.fill(head, indent))
        self.add(_SHRINKS, indent + 1)
        if "steps" in head:
            self.lines.append("    " * (indent + 1) + "steps = steps + 1")
        if "len(outs)" in head:
            self.lines.append("    " * (indent + 1) + self.fill("outs.append({value})", indent))
        if "ids" in head:
            self.lines.append("    " * (indent + 1) + "ids = torch.cat([ids, v[:1].sum(1)])")
        for _ in range(rng.randint(1, 3)):
            if depth == 0 and rng.random() < 0.1:
                self.loop(indent + 1, 1)
            else:
                self.add(_ROUND, indent + 1)

    def program(self) -> str:
        for _ in range(self.rng.randint(1, 2)):
            self.loop(1)
            for _ in range(self.rng.randint(1, 3)):
                self.add(_AFTER, 1)
        head = _HEAD.format(outs=self.rng.choice(("[]", "[x * 3]", "[x, a]")))
        return head + "\n".join(self.lines) + self.rng.choice((_TAIL, _TAIL, _TAIL_OF_LISTS))


def source(seed: int) -> str:
    return _Loops(seed).program()


class WithWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[0.6, -0.3], [0.2, 0.8]]))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("kept", torch.zeros(2))


def gradients(made: Any, module: nn.Module, calls: list[tuple[torch.Tensor, ...]]) -> tuple[list[str], list[str]]:
    """(where gradients of all floating results with regard to the input and the weight differ from eager's, where the
    program raises an error in their place)."""
    wrong, late = [], []
    for number, call in enumerate(calls):
        eager, ours = (_gradients_of(copy.deepcopy(one), call) for one in (module, made))  # buffers are shared
        if isinstance(ours, Exception):
            if not isinstance(eager, Exception):
                late.append(f"call {number}: gradients: program {ours!r:.400}")
        elif isinstance(eager, Exception) and "modified by an inplace operation" in str(eager):
            continue  # what a sub-graph changes in place is a copy: its gradients are right
        elif isinstance(eager, Exception):
            wrong.append(f"call {number}: gradients: eager {eager!r:.200}, program {ours}")
        elif not all(torch.allclose(a, b, atol=1e-4, rtol=1e-4, equal_nan=True) for a, b in zip(eager, ours)):
            wrong.append(f"call {number}: gradients: eager {eager}, program {ours}")
    return wrong, late


def _gradients_of(module: Any, call: tuple[torch.Tensor, ...]) -> Any:
    given = call[0].clone().requires_grad_()
    weight = next(module.parameters())
    try:
        with torch.set_grad_enabled(True):
            leaves = torch.utils._pytree.tree_leaves(module(given))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        results = [leaf.sum() * (i + 1) for i, leaf in enumerate(tensors) if leaf.requires_grad]
        if not results:
            return []
        total = torch.stack(results).sum()
        found = torch.autograd.grad(total, [given, weight], allow_unused=True)
    except Exception as error:
        return error
    return [torch.zeros(like.shape) if g is None else g for g, like in zip(found, (given, weight))]
