"""Generated programs whose control flow depends on sizes: branches, chunks, pads, early returns, loops, lists.

A program is the source text of `forward(x, y)`; `x` is [n, 3], `y` [m, 2]. `program(seed)` always gives the same one.
Unlike those of generated_sizes.py, which compute with sizes, they do what models do about them: pad to a multiple and
cut off again, go over chunks the last of which is short, expand to a size, treat one row apart, return early.
"""

from __future__ import annotations

from random import Random
from typing import Any

import torch
from torch import nn
from torch.export import Dim

from tests.dynamic.generated_sizes import EXAMPLE, Export, Verdict, arguments, compared, load, outcome

SIZES = [(n, m) for n in range(1, 14) for m in ((5,) if n % 3 else (1, 2, 4, 7))]
"""Where programs are compared with eager."""


class Writer:
    """Writes one program. Each statement leaves `x` with three columns, and `out`, a list of what is returned."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []

    def put(self, text: str) -> None:
        self.lines += [f"    {line}" for line in text.splitlines()]

    def size(self) -> str:
        return self.random.choice(["x.shape[0]", "n", "m", "n + m", "n // 2", "x.shape[0] - 1", "n % 3"])

    def number(self, low: int = 1, high: int = 6) -> int:
        return self.random.randint(low, high)

    def condition(self) -> str:
        pick, k = self.random, self.number(0, 9)
        return pick.choice(
            [
                f"{self.size()} {pick.choice(['<', '<=', '>', '>=', '==', '!='])} {k}", f"n % {self.number(2, 4)}",
                "x.shape[0] != y.shape[0]", f"n > 1 and m < {k}", f"not {self.size()} % 2", "n == 1 or m == 1",
                "x.shape[0] == 1", f"{self.number()} < n <= {self.number(4, 12)}",
            ]
        )  # fmt: skip

    def tensor(self) -> str:
        k = self.number()
        return self.random.choice(
            [
                "x * 2", "x.cumsum(0)", "x + y.sum()", f"x[:{k}]", f"x[-{k}:]", f"x[{k}:]", f"x[::{k}]", "x.flip(0)",
                "torch.cat([x, x])", f"torch.nn.functional.pad(x, (0, 0, 0, {k}))", "x - x.mean(0, keepdim=True)",
                "x.softmax(0)", "x.t().contiguous().t()", "x.reshape(-1, 3).exp()", "x.sum(0, keepdim=True)",
                "x.expand(1, -1, -1).squeeze(0) + 1", f"x * {self.size()}", "x.roll(1, 0)",
                "x[torch.arange(x.shape[0])]", "x.t().reshape(-1).view(3, -1).t()", "torch.where(x > 0, x, -x)",
            ]
        )  # fmt: skip

    # -- statements ------------------------------------------------------------------------------------------------

    def pad(self) -> None:
        k = self.number(2, 5)
        self.put(f"missing = -x.shape[0] % {k}")
        self.put(
            f"if missing:\n    x = torch.nn.functional.pad(x, (0, 0, 0, missing))\nx = x.view(-1, {k}, 3).cumsum(1)"
        )
        self.put(self.random.choice(["x = x.flatten(0, 1)", "x = x.reshape(-1, 3)[:n]", "x = x.sum(1)"]))

    def chunks(self) -> None:
        k = self.number(1, 5)
        of = self.random.choice(
            [f"range(0, x.shape[0], {k})", f"range((x.shape[0] + {k - 1}) // {k})", f"range(0, n, {k})"]
        )
        step = f"i * {k}" if "//" in of else "i"
        body = self.random.choice(["part.cumsum(0)", "part * part.shape[0]", "part.softmax(0)", "part + y.sum()"])
        self.put(f"parts = []\nfor i in {of}:\n    part = x[{step} : {step} + {k}]\n    parts.append({body})")
        self.put("x = torch.cat(parts)")

    def split(self) -> None:
        call = self.random.choice([f"split({self.number()})", f"chunk({self.number(1, 4)})"])
        body = self.random.choice(["part.cumsum(0)", "part - part.max()", "part.exp()"])
        self.put(f"x = torch.cat([{body} for part in x.{call}])")

    def accumulate(self) -> None:
        k = self.number(1, 4)
        self.put(f"state = torch.zeros(3)\nfor i in range(0, x.shape[0], {k}):\n    state = state * 0.5 + x[i]")
        self.put("x = x + state")

    def rows(self) -> None:
        self.put("x = torch.stack([row * 2 for row in x])")

    def expand(self) -> None:
        self.put("z = y[:, :1]\nif z.shape[0] != x.shape[0]:\n    z = z[:1].expand(x.shape[0], -1)\nx = x + z")

    def branch(self) -> None:
        self.put(f"if {self.condition()}:\n    x = {self.tensor()}")
        if self.random.random() < 0.5:
            self.put(f"else:\n    x = {self.tensor()}")

    def nested(self) -> None:
        """A branch within another one, on sizes or on data."""
        outer, inner = (self.condition() if self.random.random() < 0.7 else self.on_data() for _ in range(2))
        self.put(f"if {outer}:\n    if {inner}:\n        x = {self.tensor()}")
        if self.random.random() < 0.5:
            self.put(f"    else:\n        x = {self.tensor()}")
        if self.random.random() < 0.5:
            self.put(f"    x = {self.tensor()}")

    def on_data(self) -> str:
        return f"x.numel() and x.max() > {self.random.choice(['0.3', '1.1', '2.7', '-1.4'])}"

    def data(self) -> None:
        self.put(f"if {self.on_data()}:\n    x = {self.tensor()}")

    def choice(self) -> None:
        self.put(f"k = {self.number()} if {self.condition()} else {self.number()}\nx = x[:k] * k")

    def optional(self) -> None:
        self.put(f"mask = None if {self.condition()} else x > 0\nif mask is not None:\n    x = x * mask")

    def returns(self) -> None:
        self.put(f"if {self.condition()}:\n    return {self.tensor()}, out")

    def listed(self) -> None:
        order = "list(range(x.shape[0]))"
        made = self.random.choice(["[1.5] * x.shape[0]", order, "[x.shape[1]] * x.shape[0]", f"{order}[::-1]"])
        self.put(f"values = {made}\nx = x + torch.tensor(values, dtype=torch.float32).unsqueeze(1)")

    def index(self) -> None:
        self.put("order = list(range(x.shape[0]))[::-1]\nx = x[order]")

    def written(self) -> None:
        k = self.number()
        self.put(f"x = x.clone()\nx[:{k}] = {self.random.choice(['0', 'x[:1]', 'y.sum()'])}\nx[-1] += 1")

    def collect(self) -> None:
        self.put(f"out.append({self.tensor()})")

    def plain(self) -> None:
        self.put(f"x = {self.tensor()}")

    def statement(self) -> None:
        pick = self.random.choice
        pick([
            self.pad, self.chunks, self.split, self.accumulate, self.rows, self.expand, self.branch, self.branch,
            self.nested, self.nested, self.data, self.choice, self.optional, self.returns, self.listed, self.index,
            self.written, self.collect, self.plain, self.plain,
        ])()  # fmt: skip

    def program(self) -> str:
        for _ in range(self.random.randint(1, 4)):
            self.statement()
        head = ["import torch", "def forward(x, y):", "    n, m, out = x.shape[0], y.size(0), []"]
        return "\n".join([*head, *self.lines, "    return x * 1, out"])


def program(seed: int) -> str:
    """The source of one program."""
    return Writer(seed).program()


def judge(seed: int, export: Export, promised: bool) -> Verdict:
    """Export one program, and compare it with eager at all of SIZES that eager takes.

    promised: the sizes are `Dim("n", min=1)` and `Dim("m", min=1)`, and a call that the program does not take is
    "rejects", a fault. Else they are `Dim.AUTO`, and such a call is only not `admitted`.
    """
    forward = load(program(seed), f"<generated {seed}>")

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return forward(x, y)

    if outcome(forward, EXAMPLE)[1] is not None:
        return Verdict("nothing")
    dims = (Dim("n", min=1), Dim("m", min=1)) if promised else (Dim.AUTO, Dim.AUTO)
    try:
        run = export(Model(), arguments(*EXAMPLE), tuple({0: dim} for dim in dims))
    except Exception as error:
        return Verdict("refused", f"{type(error).__name__}: {error}")
    return compared(run, forward, SIZES, promised)
