"""Random programs about values that the sides of branches leave different, and that the program goes on to use.

For tests/control_flow/random_programs.py: structures of unlike kinds in variables, dicts with a key more, lists,
objects and tensors that a side replaces or changes in place (under several names), strings and functions chosen by
data, any, all, max, min and sorted of tensors and numbers, `with` blocks on one side.
"""

from __future__ import annotations

import random

_VALUES = (
    *("{t} + {k}", "{t} * {f}", "{t} - {u}", "torch.maximum({t}, {u})", "{t}", "{t}", "{t}.tanh()", "{t} @ self.w"),
    *("box[-1] + {t}", "table['p'] * {f}", "obj.v + {t}", "({t} if {cond} else {u})", "({t} if {cond} else {t} * {f})"),
    *("max(({t}, {u}, {t} * {f}), key=lambda v: v.sum())", "min(({t}, {u}), key=lambda v: v[0, 0].item())"),
)
_CONDITIONS = (
    *("{t}.sum() > {k}", "{t}.max() < {k}", "{t}[0, 0] > {u}[0, 1]", "not {t}.min() > -{k}", "k > {k}"),
    *("{t}.sum() > {k} and {u}.min() < 0", "any(v.sum() > {k} for v in ({t}, {u}))", "all([{t}.max() < 4, k < 9])"),
    *("any(row.sum() > {k} for row in {t})", "'q' in table", "kind == 'a'", "r is None"),
)
_STATEMENTS = (
    *(*(("{w} = {value}",) * 8), "k = k + {k}", "k = {k}", "{w} = {w} + {k}", "other = {w}", "other = {t}"),
    *("{w}.mul_({f})", "{w}[0] = {k}.0", "{w} += {t}", "other.add_({k})", "other[:, 0].add_(1)"),
    *("table['q'] = {value}", "table['p'] = {value}", "table.pop('q', None)", "table = {{'p': {value}}}"),
    *("table = {{**table, 'q': {t}}}", "parts = table", "parts['p'] = {value}", "parts = {{'p': {t}}}"),
    *("box = [{value}]", "box[0] = {value}", "box = box + [{t}]", "box.append({t})", "held = box", "held[0] = {value}"),
    *("held = [{value}]", "obj = Holder({value})", "obj.v = {value}", "seen = obj", "seen.v = {value}"),
    *("r = {value}", "r = None", "r = ({t}, {u})", "r = [{value}]", "r = {k}", "r = {{'y': {t}}}", "r = {f}"),
    *(
        "kind = 'a'",
        "kind = 'b'",
        "act = torch.sin",
        "act = torch.tanh",
        "with torch.no_grad():\n{pad}    {w} = {value}",
    ),
)
_USES = (
    *("{w} = read(r, {t}, {f})", "{w} = {w} + sum(table.values())", "{w} = act({t})", "k = k + len(table)"),
    *("for v in table.values():\n{pad}    {w} = {w} + v", "{w} = table.get('q', {t})", "{w} = box[0] + {t}"),
    *(
        "{w} = {t} if r is None else {u}",
        "k = k + len(kind)",
        "{w} = {t} * (2 if kind == 'a' else 0.5)",
        "{w} = seen.v",
    ),
    *(
        "if 'q' in table:\n{pad}    {w} = table['q']",
        "{w} = torch.stack([v + 1 for v in box]).sum(0)",
        "{w} = held[0] * 1",
    ),
    *("{w} = sorted([{t}, {u}, {t} * {f}], key=lambda v: v.sum())[1]", "{w} = {w} + parts['p']", "{w} = obj.v + {t}"),
    *("{w} = {t} * sorted([{t}[0, 0].item(), {u}[1, 1].item(), 0.5])[-1]", "{w} = (act, torch.relu)[k % 2]({t})"),
    *(
        "{w} = max({t}.max(), {k}) + {t}",
        "{w} = {t} * (1 if {cond} else {f})",
        "{w} = {t} - (r if r is not None else 1)",
    ),
)
_READ = """
def read(r, t, f):
    if r is None:
        return t - 1
    if isinstance(r, (int, float)):
        return t * r
    if isinstance(r, dict):
        return r.get("y", t) * f
    if isinstance(r, (list, tuple)):
        return sum(r) + t
    return r + t
"""
_HEAD = """
def forward(self, x):
    a, b, c, k, r, kind, act = x * 2, x - 1, x * 1, 1, None, "b", torch.cos
    box, table, obj = [a + 1], {"p": b * 1}, Holder(x * 1)
    held, parts, seen, other = box, table, obj, a
"""
_TAIL = "\n    return a, b, c, k, other, box[0], held[0], table['p'], parts['p'], len(table), obj.v, seen.v\n"


class Holder:
    def __init__(self, v: object) -> None:
        self.v = v


class _Joins:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.forks = 0

    def fill(self, text: str, pad: str) -> str:
        rng = self.rng
        while "{value}" in text:
            text = text.replace("{value}", rng.choice(_VALUES), 1)
        while "{cond}" in text:
            text = text.replace("{cond}", rng.choice(_CONDITIONS), 1)
        names = {"t": rng.choice("xabc"), "u": rng.choice("xabc"), "w": rng.choice("abc")}
        return text.format(**names, k=rng.randint(1, 4), f=rng.choice((0.5, 1.5)), pad=pad)

    def add(self, text: str, indent: int) -> None:
        pad = "    " * indent
        self.lines.append(pad + self.fill(text, pad))

    def block(self, indent: int) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            if indent < 4 and self.forks < 5 and rng.random() < 0.25:
                self.branch(indent)
            else:
                self.add(rng.choice(_STATEMENTS if rng.random() < 0.75 else _USES), indent)

    def branch(self, indent: int) -> None:
        self.forks += 1
        self.add("if {cond}:", indent)
        self.block(indent + 1)
        if self.rng.random() < 0.5:
            self.add("else:", indent)
            self.block(indent + 1)

    def program(self) -> str:
        for _ in range(self.rng.randint(1, 2)):
            self.add(self.rng.choice(_STATEMENTS), 1)
        for _ in range(self.rng.randint(1, 3)):
            self.branch(1)
            for _ in range(self.rng.randint(1, 2)):
                self.add(self.rng.choice(_USES), 1)
        return _READ + _HEAD + "\n".join(self.lines) + _TAIL


def source(seed: int) -> str:
    return _Joins(seed).program()
