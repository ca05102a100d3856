"""Generated programs that compute with sizes in Python: arithmetic, branches, loops, containers, conversions, tensors.

A program is the source text of `forward(x, y)`; `x` is [n, 3], `y` [m, 2]. `program(seed)` always gives the same one.
`unbacked_program(seed)` is the same with `n` and `m` taken from the data of two more tensors.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

EXAMPLE = (8, 5)
SIZES = [(n, m) for n in range(14) for m in ((5,) if n % 3 else (0, 1, 2, 4, 7))]
"""Where programs are compared with eager: all n from 0 to 13, and some m."""

Export = Callable[..., Callable[..., Any]]
"""(module, args, dynamic_shapes) → the exported program as a callable."""


class Writer:
    """Writes one program. `ints`, `floats` and `bools` are the variables so far."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.indent = "    "
        self.ints = ["n", "m"]
        self.floats: list[str] = []
        self.bools: list[str] = []
        self.tensors = ["x"]
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def put(self, line: str) -> None:
        self.lines.append(self.indent + line)

    # -- expressions -----------------------------------------------------------------------------------------------

    def constant(self, low: int = -9, high: int = 12) -> str:
        return str(self.random.randint(low, high))

    def integer(self, depth: int = 2) -> str:
        pick = self.random
        if depth == 0 or pick.random() < 0.2:
            return pick.choice(self.ints) if pick.random() < 0.8 else f"({self.constant()})"
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        divisor = pick.choice([d for d in range(-5, 7) if d])
        return pick.choice(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * {self.constant(-3, 4)})", f"({a} * {b})",
                f"({a} // {divisor})", f"({a} % {divisor})", f"divmod({a}, {divisor})[{pick.randint(0, 1)}]",
                f"min({a}, {b})", f"max({a}, {b}, {self.constant()})", f"abs({a})", f"(-{a})", f"(~{a})",
                f"int({self.floating(depth - 1)})", f"math.floor({self.floating(depth - 1)})",
                f"math.ceil({a} / {divisor})", f"math.trunc({a} / {divisor})", f"round({a} / {divisor})",
                f"round({a}, -1)", f"({a} if {self.condition(depth - 1)} else {b})", f"sum([{a}, {b}, 1])",
                f"({a} << 1)", f"({a} >> 1)", f"int({self.condition(depth - 1)})", f"sorted([{a}, {b}])[0]",
                f"operator.index({a})", f"({a} & 7)", f"len(x[:{pick.randint(0, 9)}])", "x.numel()", "y.shape.numel()",
                f"[{a}, {b}][{self.condition(depth - 1)}]", f"functools.reduce(operator.add, [{a}, {b}])",
                f"({a}) ** 2", f"{{'a': {a}}}['a']", f"max([{a}, {b}], key=lambda v: v % 3)", f"half({a})",
            ]
        )  # fmt: skip

    def floating(self, depth: int = 2) -> str:
        pick = self.random
        if depth <= 0 or pick.random() < 0.3:
            a = pick.choice(self.ints)
            return pick.choice([*self.floats, f"({a} / 2)", f"float({a})", f"({a} * 0.75)", f"({a} / -4)"])
        a, b = self.floating(depth - 1), self.floating(depth - 1)
        return pick.choice(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * 0.5)", f"({a} / 3)", f"(-{a})", f"abs({a})",
                f"({a} // 2)", f"({a} % 3)", f"math.sqrt(abs({a}))", f"round({a}, 1)", f"min({a}, {b})",
            ]
        )  # fmt: skip

    def condition(self, depth: int = 2) -> str:
        pick = self.random
        if depth <= 0 or pick.random() < 0.4:
            relation = pick.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"({pick.choice(self.ints)} {relation} {self.constant(0, 9)})"
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        p, q = self.condition(depth - 1), self.condition(depth - 1)
        return pick.choice(
            [
                f"({a} < {b})", f"({a} % 2 == 0)", f"({a} == {b})", f"({p} and {q})", f"({p} or {q})", f"(not {p})",
                f"({self.constant()} <= {a} < {self.constant()})", f"({p} & {q})", f"({p} | {q})",
                f"({self.floating(depth - 1)} > {self.constant()})", f"({a} in [{b}, 1, 2])",
                f"(x.shape == ({a}, 3))", "(x.shape[:1] == y.shape[:1])", f"bool({a})", f"isinstance({a}, int)",
                f"(type({a}) is int)", f"any(s > {self.constant(0, 6)} for s in x.shape)",
            ]
        )  # fmt: skip

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        pick = self.random.random()
        if pick < 0.3:
            name = self.name()
            self.put(f"{name} = {self.integer()}")
            self.ints.append(name)
        elif pick < 0.38:
            name = self.name()
            self.put(f"{name} = {self.floating()}")
            self.floats.append(name)
        elif pick < 0.55 and depth:
            self.branch(depth)
        elif pick < 0.63 and depth:
            self.loop(depth)
        else:
            self.put(f"x = {self.tensor()}")

    def block(self, depth: int) -> None:
        before = (list(self.ints), list(self.floats), self.indent)
        self.indent += "    "
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth - 1)
        self.ints, self.floats, self.indent = before

    def branch(self, depth: int) -> None:
        self.put(f"if {self.condition()}:")
        self.block(depth)
        if self.random.random() < 0.5:
            self.put("else:")
            self.block(depth)

    def loop(self, depth: int) -> None:
        step = self.random.randint(1, 3)
        stop = self.random.choice([f"abs({self.integer(1)}) % 4", "min(n, 3)", f"0, n, {4 + step}"])
        name = self.name()
        self.put(f"for {name} in range({stop}):")
        self.ints.append(name)
        self.block(depth)
        self.ints.remove(name)

    def tensor(self) -> str:
        a = self.integer(1)
        return self.random.choice(
            [
                f"x * ({self.integer()})", f"x + ({self.floating()})", f"x[: abs({a}) % 7]", f"x[abs({a}) % 3 :]",
                f"torch.cat([x, x.new_ones(abs({a}) % 5, 3)])", "torch.cat([x, x])", f"x.roll({a}, 0)",
                f"x + torch.full((1, 3), float({a}))", f"torch.nn.functional.pad(x, (0, 0, 0, abs({a}) % 4))",
                f"x + torch.arange(abs({a}) % 9).sum()", "x.reshape(-1).view(x.shape[0], 3)", "x.flip(0)",
                "x + y.sum() * len(x)", f"x.repeat(abs({a}) % 3, 1)", "x.t().contiguous().t()",
                f"torch.where(x > {self.constant()}, x, x * 2)", "x.expand(1, -1, 3)[0]",
                f"x - torch.tensor([{a}, 1, 2])", "x / max(x.shape[0], 1)",
                f"x[:, abs({a}) % 3 :].sum(1, keepdim=True) + x",
            ]
        )  # fmt: skip

    def program(self) -> str:
        for _ in range(self.random.randint(2, 5)):
            self.statement(2)
        returned = [f"({value})" for value in (self.integer(), self.floating(1), self.random.choice(self.ints))]
        head = [
            "import functools, math, operator, torch",
            "def half(value):",
            "    return value // 2 if value > 3 else value",
            "def forward(x, y):",
            "    n, m = x.shape[0], y.size(0)",
        ]
        return "\n".join([*head, *self.lines, f"    return x, x.shape[0], {', '.join(returned)}"])


def program(seed: int) -> str:
    """The source of one program."""
    return Writer(seed).program()


def unbacked_program(seed: int) -> str:
    """The source of one program of values from run time: `forward(x, y, t, k)`."""
    source = program(seed).replace("n, m = x.shape[0], y.size(0)", "n, m = k.item(), int(t.sum())")
    return source.replace("forward(x, y)", "forward(x, y, t, k)")


def load(source: str, name: str) -> Callable[..., Any]:
    """The `forward` of a program; tracebacks show its lines under the file name `name`."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace["forward"]


def arguments(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.linspace(-2, 2, n * 3).view(n, 3), torch.full((m, 2), 0.5)


def same(got: Any, want: Any) -> bool:
    """Equal values of equal types, tensors up to rounding."""
    left, right = pytree.tree_leaves(got), pytree.tree_leaves(want)
    return len(left) == len(right) and all(map(_same_leaf, left, right))


def _same_leaf(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if not isinstance(a, torch.Tensor):
        return a == b or (a != a and b != b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.allclose(a.double(), b.double(), atol=1e-5, equal_nan=True)


@dataclass
class Verdict:
    """`kind`: equal, refused, wrong (other values, or none where eager raises), fails (on the example itself), or
    nothing (eager raises on the example). `admitted` of `possible` sizes were admitted."""

    kind: str
    text: str = ""
    admitted: int = 0
    possible: int = 0


def judge(seed: int, export: Export) -> Verdict:
    """Export one program with both sizes dynamic, and compare it with eager at all of SIZES."""
    forward = load(program(seed), f"<generated {seed}>")

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return forward(x, y)

    if outcome(forward, EXAMPLE)[1] is not None:
        return Verdict("nothing")
    try:
        run = export(Model(), arguments(*EXAMPLE), ({0: Dim.AUTO}, {0: Dim.AUTO}))
    except Exception as error:
        return Verdict("refused", f"{type(error).__name__}: {error}")
    return compared(run, forward, SIZES)


def compared(
    run: Callable[..., Any], forward: Callable[..., Any], sizes: list[tuple[int, int]], promised: bool = False
) -> Verdict:
    """A program beside eager at these sizes. promised: "rejects" where it does not take a call that eager takes."""
    verdict = Verdict("equal")
    for at in (EXAMPLE, *sizes):
        want, raised = outcome(forward, at)
        got, refused = outcome(run, at)
        if refused is not None and at is EXAMPLE:
            return Verdict("fails", f"{type(refused).__name__}: {refused}")
        if refused is None and raised is not None:
            return Verdict("wrong", f"at {at}: eager raises {raised!r}")
        if refused is None and not same(got, want):
            return Verdict("wrong", f"at {at}: {str(got)[-200:]}, not {str(want)[-200:]}")
        if promised and refused is not None and raised is None:
            return Verdict("rejects", f"at {at}: {type(refused).__name__}: {refused}")
        verdict.admitted += refused is None
        verdict.possible += raised is None
    return verdict


def outcome(run: Callable[..., Any], sizes: tuple[int, int]) -> tuple[Any, Exception | None]:
    try:
        return run(*arguments(*sizes)), None
    except Exception as error:
        return None, error
