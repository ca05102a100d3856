"""Random functions that return values of different kinds on the ways through them, and callers that tell them apart.

For tests/control_flow/random_programs.py. What the functions change on the way (buffers, lists, dicts, attributes,
iterators, their arguments) is among the results.
"""

from __future__ import annotations

import random

_VALUES = (
    *("{t} + {k}", "{t} * {f}", "{t} - {u}", "torch.maximum({t}, {u})", "{t}", "{t}.tanh()", "-{t}", "{t} @ self.w"),
    *("box[-1] + {t}", "table['p'] * {f}", "obj.v + {t}", "{t} + self.count"),
)
_CONDITIONS = (
    *("{t}.sum() > {k}", "{t}.max() < {k}", "{t}[0, 0] > {u}[0, 1]", "not {t}.min() > -{k}", "self.count > {k}"),
    *("{t}.sum() > {k} and {u}.min() < 0", "{t}.mean() < 0 or {u}.max() > {k}", "k > {k}"),
)
_EFFECTS = (
    *(*(("{w} = {value}",) * 6), "k = k + {k}", "self.count.add_({k})", "box.append({value})", "table['p'] = {value}"),
    *("table['q'] = {t}", "obj.v = {value}", "obj.flag = {k}", "k = next(numbers)", "{w}.mul_({f})", "box[0] = {t}"),
    *("{w} = {t} * 1", "self.kept.copy_({t}.sum(0))", "box.pop() if len(box) > 1 else None"),
)
_RESULTS = (
    *("None", "None", "{value}", "{value}", "({t}, None)", "(None, {t})", "{{'y': {value}}}", "{{}}", "[{t}, {u}]"),
    *("True", "False", "{k}", "{f}", "{k} + k", "torch.sin", "torch.relu", "box", "table", "obj", "Holder({t})"),
    *("({value}, {k})", "({t}, {u})", "{{'y': {t}, 'z': {k}}}", "'text'", "[]"),
)
_READ = """
def read(r, t, f):
    if r is None:
        return t - 1
    if r is True or r is False or isinstance(r, (int, float)):
        return t * r
    if isinstance(r, str):
        return t * len(r)
    if isinstance(r, Holder):
        return r.v + t
    if isinstance(r, dict):
        return r.get("y", t) * f
    if isinstance(r, (list, tuple)):
        for part in r:
            if isinstance(part, torch.Tensor):
                t = t + part
        return t * len(r)
    return r + t if isinstance(r, torch.Tensor) else r(t)
"""
_USES = (
    *("{w} = read({call}, {t}, {f})", "r = {call}\n{pad}{w} = read(r, {t}, {f})"),
    "{w} = {t} if {call} is None else {u}",
    "r = {call}\n{pad}if r is None:\n{pad}    {w} = {value}",
    "r = {call}\n{pad}if isinstance(r, torch.Tensor):\n{pad}    {w} = r * {f}\n{pad}else:\n{pad}    {w} = {value}",
    "r = {call}\n{pad}if isinstance(r, tuple):\n{pad}    {w} = {t} + (r[0] if r[0] is not None else {k})",
    "for r in ({call}, {call}):\n{pad}    {w} = read(r, {t}, {f})",
    "try:\n{pad}    {w} = read({call}, {t}, {f})\n{pad}finally:\n{pad}    k = k + 1",
    "with torch.no_grad():\n{pad}    r = {call}\n{pad}{w} = read(r, {t}, {f})",
    "{w} = [read(r, {t}, {f}) for r in [{call}, {value}]][0]",
    "if {cond}:\n{pad}    {w} = read({call}, {t}, {f})\n{pad}else:\n{pad}    {w} = {value}",
    "r = {call}\n{pad}if not isinstance(r, torch.Tensor):\n{pad}    return a, k",
    "r = {call}\n{pad}if r is None:\n{pad}    raise ValueError('nothing')",
    "r = {call}\n{pad}{effect}\n{pad}{w} = read(r, {t}, {f})",
    "{call}",
)
_ARGUMENTS = "self, x, a, b, k, box, table, obj, numbers"
_HEAD = """
def forward(self, x):
    a, b, k = x * 2, x - 1, 1
    box, table, obj, numbers = [a + 1], {"p": b * 1}, Holder(x * 1), iter(range(1, 99))
"""
_TAIL = "\n    return a, b, k, box, table, obj.v, obj.flag, next(numbers)\n"
_SHORT_TAIL = "\n    return a, b, k, obj.v, next(numbers)\n"


class Holder:
    def __init__(self, v: object) -> None:
        self.v, self.flag = v, 0


class _Calls:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.functions = 0

    def fill(self, text: str, pad: str = "") -> str:
        rng = self.rng
        while "{call}" in text:
            text = text.replace("{call}", f"f{rng.randrange(self.functions)}({_ARGUMENTS})", 1)
        text = text.replace("{effect}", rng.choice(_EFFECTS))
        while "{value}" in text:
            text = text.replace("{value}", rng.choice(_VALUES), 1)
        text = text.replace("{cond}", rng.choice(_CONDITIONS), 1)
        names = {"t": rng.choice("xab"), "u": rng.choice("xab"), "w": rng.choice("ab")}
        return text.format(**names, k=rng.randint(1, 4), f=rng.choice((0.5, 1.5, 2)), pad=pad)

    def add(self, text: str, indent: int) -> None:
        pad = "    " * indent
        self.lines.append(pad + self.fill(text, pad))

    def body(self, indent: int, forks: int) -> None:
        """Statements and branches; the last statement is a return, or there is none."""
        rng = self.rng
        for _ in range(rng.randint(0, 2)):
            self.add(rng.choice(_EFFECTS), indent)
        if self.functions and rng.random() < 0.2:
            self.add(rng.choice(_USES), indent)
        if forks:
            self.add("if {cond}:", indent)
            self.lines.append("    " * (indent + 1) + "k = k + 0")
            self.body(indent + 1, forks - 1 if rng.random() < 0.3 else 0)
            if rng.random() < 0.3:
                self.add("else:", indent)
                self.lines.append("    " * (indent + 1) + "k = k + 0")
                self.body(indent + 1, 0)
            if rng.random() < 0.3:
                self.add(rng.choice(_EFFECTS), indent)
        results = [f"return {value}" for value in _RESULTS]
        if self.functions:
            results += ["return {call}"] * 3
        if rng.random() < 0.9:
            self.add(rng.choice((*results, "raise ValueError('{k}')")), indent)

    def program(self) -> str:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            decorator = "@torch.no_grad()\n" if rng.random() < 0.1 else ""
            self.lines.append(f"{decorator}def f{self.functions}({_ARGUMENTS}):")
            self.body(1, rng.randint(1, 2))
            self.functions += 1
        self.lines.append(_HEAD)
        for _ in range(rng.randint(1, 3)):
            self.add(rng.choice(_USES), 1)
            if rng.random() < 0.4:
                self.add(rng.choice(_EFFECTS), 1)
        return _READ + "\n".join(self.lines) + rng.choice((_TAIL, _SHORT_TAIL))


def source(seed: int) -> str:
    return _Calls(seed).program()
