"""Random programs over two sizes, with random specifications that fit the example and may promise too much."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from hypothesis import strategies as st

from tests.dynamic.violation_programs import Case

_numbers = count()


@dataclass
class _Draft:
    """A program being written; `size` is what each tensor has in the example at this point."""

    draw: st.DrawFn
    size: dict[str, int]
    lines: list[str] = field(default_factory=list)

    def number(self, lo: int, hi: int) -> int:
        return self.draw(st.integers(lo, hi))

    def add(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]


def _branch(d: _Draft, x: str, y: str) -> None:
    k, op = d.number(0, 12), d.draw(st.sampled_from([">", "<", "==", "!=", ">="]))
    d.add(f"if {x}.shape[0] {op} {k}:", f"    {x} = {x} + 1", "else:", f"    {x} = {x} * 2")


def _branch_on_both(d: _Draft, x: str, y: str) -> None:
    a, k = d.number(1, 3), d.number(0, 20)
    d.add(f"if {x}.shape[0] + {a} * {y}.shape[0] > {k}:", f"    {y} = {y} - 1")


def _residue(d: _Draft, x: str, y: str) -> None:
    a = d.number(2, 4)
    d.add(f"assert {x}.shape[0] % {a} == {d.size[x] % a}")


def _related(d: _Draft, x: str, y: str) -> None:
    a = d.number(1, 3)
    d.add(f"assert {y}.shape[0] == {a} * {x}.shape[0] + {d.size[y] - a * d.size[x]}")


def _cut(d: _Draft, x: str, y: str) -> None:
    a = d.number(1, 3)
    if a < d.size[x] - 1:
        d.add(f"{x} = {x}[{a}:]")
        d.size[x] -= a


def _doubled(d: _Draft, x: str, y: str) -> None:
    d.add(f"{x} = torch.cat([{x}, {x}])")
    d.size[x] *= 2


def _grouped(d: _Draft, x: str, y: str) -> None:
    a = d.number(2, 3)
    if d.size[x] % a == 0 and d.size[x] > a:
        d.add(f"{x} = {x}.reshape(-1, {a}, 3).sum(1)")
        d.size[x] //= a


def _added(d: _Draft, x: str, y: str) -> None:
    if d.size[x] == d.size[y]:
        d.add(f"{x} = {x} + {y}")


def _fixed(d: _Draft, x: str, y: str) -> None:
    d.add(f"{x} = {x} + torch.ones({d.size[x]}, 1)")


def _scaled(d: _Draft, x: str, y: str) -> None:
    d.add(f"{x} = {x} * ({y}.shape[0] // {d.number(1, 3)})")


_STEPS = [_branch, _branch, _branch_on_both, _residue, _related, _cut, _doubled, _grouped, _added, _fixed, _scaled]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A program of x and y (each with three columns), its example and its specification as text."""
    n, m = draw(st.integers(2, 9)), draw(st.integers(2, 9))
    draft = _Draft(draw, {"x": n, "y": m})
    for step in draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=3)):
        step(draft, *draw(st.sampled_from([("x", "y"), ("y", "x")])))
    name = f"generated_{next(_numbers)}.py"
    source = "\n".join(["def forward(x, y):", *draft.lines, "    return x, y", ""])
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, name, "exec"), names)
    dims, specs = _specification(draw, n, m)
    return Case(names["forward"], (torch.randn(n, 3), torch.randn(m, 3)), dims, specs, {})


def _specification(draw: st.DrawFn, n: int, m: int) -> tuple[str, str]:
    lines: list[str] = []
    first = draw(st.sampled_from(["b", "b", "Dim.DYNAMIC", "Dim.AUTO"]))
    if first == "b":
        lines.append(f"b = {_dim(draw, 'b', n)}")
    others = ["c", "c", "Dim.DYNAMIC"]
    if first == "b":
        a = draw(st.integers(1, 3))
        b = m - a * n
        lowest = f"b = Dim('b', min={max(0, -(b // a))})"  # a derived dim is never negative
        if b == 0 and a == 1:
            others.append("b")
        others.append(f"{a}*b + {b}" if b >= 0 else f"{a}*b - {-b}")
    second = draw(st.sampled_from(others))
    if "b" in second and second != "b":
        lines[0] = lowest if max(0, -(b // a)) <= n else lines[0]
    if second == "c":
        lines.append(f"c = {_dim(draw, 'c', m)}")
    forms = ["{{'x': {{0: {}}}, 'y': {{0: {}}}}}", "[({}, None), ({}, None)]", "({{0: {}}}, [{}, 3])"]
    return "\n".join(lines), draw(st.sampled_from(forms)).format(first, second)


def _dim(draw: st.DrawFn, name: str, value: int) -> str:
    lo = draw(st.sampled_from([None, 1, value])) if value > 1 else None
    hi = draw(st.sampled_from([None, value + 1, 64]))
    bounds = ([f"min={lo}"] if lo is not None else []) + ([f"max={hi}"] if hi is not None else [])
    return f"Dim({', '.join([repr(name), *bounds])})"
