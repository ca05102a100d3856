"""Random programs with branches and loops on data, in Python as it is written: text, module and inputs from a seed.

    python -m tests.control_flow.random_programs FIRST LAST

Programs with a seed from SIZES on have a second input, of dynamic length: loops over it, and lists that grow. Those
with a seed from COUNTED on have loops of many rounds that data end, and lists indexed by numbers of the data. From
FILTERED on they have the second input and lists to which branches add; those from ENDED on are random_while_loops.py's,
with gradients from GRADIENTS on, those from CALLS on random_calls.py's, and 100,000 from JOINS on random_joins.py's.
This runs the seeds of a range and prints what is wrong, with a count of outcomes.
"""

from __future__ import annotations

import collections
import copy
import random
import sys
import warnings
from types import FrameType
from typing import Any

import torch
from torch import nn

import dynamo_lite
from benchmarks.time_limit import TimeIsUp, time_limit
from dynamo_lite.errors import DynamoLiteError
from tests.control_flow import random_calls, random_joins, random_while_loops
from tests.control_flow.harness import differences

_TENSORS = ("x", "a", "b", "c")
_VALUES = (
    *("{t} + {k}", "{t} * {f}", "{t} - {u}", "{t}.clone()", "torch.maximum({t}, {u})", "{t}", "{t} * k", "-{t}"),
    *("box[0] + {t}", "table['p'] * {f}", "obj.v + {t}", "{t} + self.count", "helper({t}, {u})", "{t}[:1] + {u}"),
    *("({t} if {cond} else {u})", "bump({t})", "{t}.t().t() + {k}", "torch.stack([{t}, {u}]).sum(0)"),
)
_CONDITIONS = (
    *(
        "{t}.sum() > {k}",
        "{t}.max() < {k}",
        "{t}[0, 0] > {u}[0, 1]",
        "not {t}.min() > -{k}",
        "k > {k}",
        "self.count > {k}",
    ),
    *("{t}.sum() > {k} and {u}.min() < 0", "{t}.mean() < 0 or {u}.max() > {k}", "0 < {t}.sum() < {k}", "found"),
)
_STATEMENTS = (
    *(*(("{w} = {value}",) * 16), "k = k + {k}", "k = {k}", "found = {cond}"),
    *(
        "{w} += {k}",
        "{w}.mul_({f})",
        "{w}[0] = {k}.0",
        "{w}[:, 0].add_({k})",
        "self.count.add_({k})",
        "self.kept.copy_({t}.sum(0))",
    ),
    *(
        "self.kept = {t}.mean(0)",
        "box[0] = {value}",
        "box = [{value}]",
        "table['p'] = {value}",
        "obj.v = {value}",
        "obj = Holder({value})",
    ),
    *(
        "table['q'] = {t}",
        "pair = ({value}, k)",
        "{w}, k = pair[0], pair[1] + 1",
        "box.append({t})",
        "alias = {w}",
        "alias.add_({k})",
    ),
    *("k = next(numbers)", "row = {t}[1]", "row.sub_({k})", "x.add_({k})", "{w} = box.pop() if len(box) > 1 else {t}"),
)
_SECONDS = 60
"""How long a program may take."""
_LINES = 20_000
"""How many lines a call may run: some loops have no end (`continue` before what would end them)."""
SIZES = 100_000
COUNTED = 200_000
FILTERED = 300_000
ENDED = 400_000
GRADIENTS = 500_000
CALLS = 600_000
JOINS = 700_000
_FILTERING = (
    *("if {cond}:\n{pad}    kept.append({t})", "if {cond}:\n{pad}    kept.append(row)", "kept.append({value})"),
    *("if {cond}:\n{pad}    kept.append({t})\n{pad}else:\n{pad}    marks.append(i)", "marks.append(i)"),
    *("if {cond}:\n{pad}    marks.append(i)", "if {cond}:\n{pad}    kept.extend([{t}, row * {f}])", "k = k + 1"),
    *("{w} = {value}", "{w} = {w} + row", "row = row * {f}", "{w}.add_(row)", "row.mul_({f})", "kept += [{t}]"),
    *("if {cond}:\n{pad}    kept = kept + [{t}]", "if {cond}:\n{pad}    kept = [{t}]"),
    *("alias = kept[-1] if kept else {t}", "if {cond}:\n{pad}    break", "if {cond}:\n{pad}    continue"),
    "if {cond}:\n{pad}    more.append({t})",
)
_FILTER_HEADS = (
    *("for i in range(2):", "for i in range(3):", "for i in range(12):", "for i, row in enumerate(s):"),
    "for i in range(len(s)):",
    "for i, row in enumerate([x, a, b]):",
)
_FILTERED = (
    *("{w} = torch.stack(kept).sum(0) if kept else {t}", "if kept:\n{pad}    {w} = kept[-1] + {t}"),
    "k = k + len(kept)",
    *("{w} = torch.cat(kept, 1).sum(1, keepdim=True) + {t} if len(kept) > 0 else {t}", "k = k + len(marks)"),
    *("for o in kept:\n{pad}    {w} = {w} * 0.5 + o", "{w} = {w} + {t}.flatten()[[m % 4 for m in (0, 1)]].sum()"),
    *("{t}.add_(1)", "kept.append({t})", "kept = kept[::-1]", "if not marks:\n{pad}    {w} = {value}", "row.add_(1)"),
    *("total = total + torch.arange(20)[marks].sum()", "kept = [{t}]", "{w} = {value}", "kept.append({t} + 1)"),
)
_CHOICES = (
    *("{w} = [{t}, {u}, {t} * {f}][k % 3]", "k = (3, 1, 4)[k % 3]", "{w} = {t} * (0.5, 1.5)[k % 2]"),
    *("{w} = (torch.sin, torch.tanh, torch.relu)[k % 3]({t})", "k = int({t}.argmax()) + 1", "box[k % 1] = {t}"),
)
_MANY = (
    *("for i in range({n}):", "for i in range({n}, 0, -1):", "for i in range(1, {n} * 2, 2):"),
    *("for i in (1, 5, 2, 4, 3, 1, 2, 5, 1, 3, 2):", "for rate in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):"),
)
_ENDS = ("break", "break", "return {t}, k", "k = k + 5; break", "continue")
_GROWING = (
    *("outs.append({value})", "outs.append({t})", "outs.append(row + {t})", "outs += [{t} * {f}]", "more.append(row)"),
    *("{w} = {w} + row", "row = row * {f}", "{w} = row", "{w}.add_(row)", "row.mul_({f})", "k = k + 1", "alias = outs"),
    *("last = outs[-1] if k > 2 else {t}", "outs = [{t}]", "box.append(row)", "pair = (row, k)", "obj.v = obj.v + row"),
)
_HEADS = (
    *("for row in s:", "for k, row in enumerate(s):", "for row in s.unbind(0):", "for row, other in zip(s, s * 2):"),
    *("for j in range(s.shape[0]):", "for j in range(1, len(s)):", "for j in reversed(range(s.size(0))):"),
)
_AFTER = (
    *("{w} = torch.stack(outs).sum(0)", "{w} = torch.cat(outs, 1).sum(1, keepdim=True) + {t}", "k = k + len(outs)"),
    *("{w} = outs[-1]", "outs.append({t})", "{w} = outs[0] + row", "{t}.add_(1)", "outs[-1].add_(1)"),
    *("for o in outs:\n{pad}    {w} = {w} * 0.5 + o", "outs = outs[::-1]", "outs.append({t} + 1)", "{w} = {value}"),
)
_HEAD = """
def forward(self, x{more}):
    a, b, c, k, found = x * 2, x.clone() + 1, x - 1, 1, False
    box, table, obj, pair, alias, row = [a + 1], {"p": b * 1}, Holder(c * 1), (a, 2), b * 3, c[1]
    row, outs, more = x * 1, [], []
    numbers, total = iter([1, 2, 3, 4, 5, 6, 7, 8, 9] * 9), x.sum()
    def bump(t):
        nonlocal total
        total = total + t.sum()
        return t + 1
"""
_TAIL = """
    return a, b, c, k, box, table, obj.v, pair, total, alias
"""


class Holder:
    def __init__(self, v: Any) -> None:
        self.v = v


def helper(t: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    if (t * u).sum() > 1:
        return t + u
    return t - 1


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.counted = COUNTED <= seed < FILTERED
        self.sizes = SIZES <= seed < COUNTED
        self.growing = False
        self.lines: list[str] = []
        self.pad = ""
        self.filtered = seed >= FILTERED
        self.left = self.rng.randint(0, 4) if seed >= COUNTED else self.rng.randint(3, 9)
        self.forks = 0

    def fill(self, text: str) -> str:
        rng = self.rng
        for _ in range(3):
            text = text.replace("{value}", rng.choice(_VALUES), 1).replace("{cond}", rng.choice(_CONDITIONS), 1)
        names = {n: rng.choice(_TENSORS) for n in ("t", "u", "w")}
        if names["w"] == "x":
            names["w"] = "a"
        numbers = {"k": rng.randint(1, 4), "f": rng.choice((0.5, 1.5, 2))}
        return text.format(**names, **numbers, pad=self.pad, value="a", cond="found")

    def block(self, indent: int, loop: bool) -> None:
        rng, pad = self.rng, "    " * indent
        self.pad = pad
        self.lines.append(pad + "k = k + 0")
        for _ in range(rng.randint(1, 3)):
            self.left -= 1
            kind = rng.random()
            self.pad = pad
            if kind < 0.45 or indent > 3 or self.forks > 4:
                grows = self.growing and rng.random() < 0.5
                chooses = self.counted and rng.random() < 0.15
                statements = _CHOICES if chooses else _GROWING if grows else _STATEMENTS
                self.lines.append(pad + self.fill(rng.choice(statements)))
            elif kind < 0.75:
                self.branch(indent, loop)
            elif kind < 0.85:
                self.loop(indent)
            elif kind < 0.9:
                self.lines.append(f"{pad}try:")
                self.block(indent + 1, False)
                self.lines.append(f"{pad}except ValueError:\n{pad}    {self.fill('{w} = {value}')}")
            elif kind < 0.95 and indent > 1:
                self.lines.append(pad + self.fill(rng.choice(("return {value}", "raise ValueError('{k}')"))))
                return
            elif loop and indent > 2:
                self.lines.append(pad + rng.choice(("break", "continue")))
                return

    def branch(self, indent: int, loop: bool) -> None:
        pad = "    " * indent
        self.forks += 1
        self.lines.append(self.fill(f"{pad}if {{cond}}:"))
        self.block(indent + 1, loop)
        if self.rng.random() < 0.6:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, loop)

    def loop(self, indent: int) -> None:
        pad, rng = "    " * indent, self.rng
        self.forks += 2
        if self.sizes and not self.growing and rng.random() < 0.7:
            self.growing_loop(indent)
            return
        if self.counted and rng.random() < 0.7:
            self.counted_loop(indent)
            return
        kind = rng.random()
        if kind < 0.4:
            self.lines.append(f"{pad}for i in range({rng.randint(1, 2)}):")
            self.block(indent + 1, True)
        elif kind < 0.7:
            self.lines.append(self.fill(f"{pad}while {{t}}.sum() < 20 and self.count < 9:"))
            self.block(indent + 1, True)
            self.lines.append(f"{pad}    x = x + 1; a = a + 3; b = b + 3; c = c + 3; self.count.add_(1)")
        else:
            self.lines.append(f"{pad}for i in range(int(x[0, 0].abs().to(torch.int64).item())):")
            self.block(indent + 1, True)

    def counted_loop(self, indent: int) -> None:
        """Of many iterations, which data end."""
        pad, rng = "    " * indent, self.rng
        head = rng.choice(_MANY).replace("{n}", str(rng.randint(10, 14)))
        self.lines.append(pad + head)
        if rng.random() < 0.3:
            self.block(indent + 1, True)
        for _ in range(rng.randint(1, 2)):
            number = " * rate" if "rate" in head else rng.choice((" + i", ""))
            self.lines.append(self.fill(f"{pad}    if {{cond}}:\n{pad}        {rng.choice(_ENDS)}"))
            self.lines.append(self.fill(f"{pad}    {{w}} = {{value}}{number}"))
        if rng.random() < 0.2:
            self.block(indent + 1, True)
        if rng.random() < 0.3:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, False)

    def growing_loop(self, indent: int) -> None:
        """Over the rows of `s`: items for `outs`, then something is made of them."""
        pad, rng = "    " * indent, self.rng
        head = rng.choice(_HEADS)
        self.lines.append(f"{pad}outs = []\n{pad}{head}" if rng.random() < 0.8 else pad + head)
        if " j " in head:
            self.lines.append(f"{pad}    row = s[j]")
        self.growing = True
        self.block(indent + 1, True)
        if rng.random() < 0.8:
            self.pad = pad
            self.lines.append(f"{pad}    {self.fill(rng.choice(_GROWING[:4]))}")
        self.growing = False
        for _ in range(rng.randint(1, 3)):
            self.pad = pad
            self.lines.append(pad + self.fill(rng.choice(_AFTER)))

    def filtering_loop(self, indent: int) -> None:
        """Branches of its iterations add to `kept` and `marks`, then something is made of them."""
        pad, rng = "    " * indent, self.rng
        first = "[], []" if rng.random() < 0.7 else f"[{rng.choice(_TENSORS)}], [1]"
        self.lines.append(f"{pad}kept, marks = {first}")
        self.lines.append(pad + rng.choice(_FILTER_HEADS))
        self.pad = pad + "    "
        for _ in range(rng.randint(1, 3)):
            self.lines.append(self.pad + self.fill(rng.choice(_FILTERING)))
        self.pad = pad
        for _ in range(rng.randint(1, 3)):
            self.lines.append(pad + self.fill(rng.choice(_FILTERED)))


def has_rows(seed: int) -> bool:
    """Whether there is a second input, of dynamic length."""
    return SIZES <= seed < COUNTED or FILTERED <= seed < ENDED


def _is_of_joins(seed: int) -> bool:
    return JOINS <= seed < JOINS + 100_000


def source(seed: int) -> str:
    if seed >= CALLS:
        return (random_joins if _is_of_joins(seed) else random_calls).source(seed)
    if seed >= ENDED:
        return random_while_loops.source(seed)
    writer = _Writer(seed)
    for _ in range(writer.rng.randint(1, 2) if writer.filtered else 0):
        writer.filtering_loop(1)
    if writer.sizes:
        writer.growing_loop(1)
    if writer.counted:
        writer.counted_loop(1)
    while writer.left > 0:
        writer.block(1, False)
    head = _HEAD.replace("{more}", ", s" if has_rows(seed) else "")
    return head + "\n".join(writer.lines) + _TAIL


def module(seed: int) -> nn.Module:
    holder = random_joins.Holder if _is_of_joins(seed) else random_calls.Holder if seed >= CALLS else Holder
    space: dict[str, Any] = {"torch": torch, "Holder": holder, "helper": helper}
    exec(compile(source(seed), f"<random program {seed}>", "exec"), space)
    if seed >= ENDED:
        kind = type("Module", (random_while_loops.WithWeight,), {"forward": space["forward"]})
        return kind().requires_grad_(seed >= GRADIENTS)

    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))
            self.register_buffer("kept", torch.zeros(2))

        forward = space["forward"]

    return Module()


def inputs(seed: int) -> tuple[tuple[torch.Tensor, ...], ...]:
    generator = torch.Generator().manual_seed(seed)
    scales = (1.0, 3.0, 0.3, 2.0, 5.0)
    calls = [(torch.randn(2, 2, generator=generator) * s + i % 3 - 1).round(decimals=2) for i, s in enumerate(scales)]
    if not has_rows(seed):
        return tuple((call,) for call in calls)
    lengths = (3, 1, 4, 2, 6)
    rows = [torch.randn(n, 2, 2, generator=generator).round(decimals=2) for n in lengths]
    return tuple(zip(calls, rows))


def outcome(seed: int) -> tuple[str, str]:
    """("equal" | "refused" | "raises" | "late" | "wrong" | "failed", why). late: equal, but raises an error in place of
    gradients. (The input of even seeds requires grad in the example, of odd seeds in the calls only.)"""
    mod = module(seed)
    calls = [call for call in inputs(seed) if _ends(mod, call)]
    if not calls:
        return "raises", "eager ends for none of the inputs"
    try:
        sizes = {"dynamic_shapes": (None, {0: torch.export.Dim.AUTO})} if has_rows(seed) else {}
        example = copy.deepcopy(calls[0])
        if seed >= GRADIENTS and seed % 2 == 0:
            example = tuple(value.requires_grad_() for value in example)
        ep = dynamo_lite.export(mod, example, control_flow="capture", **sizes)
    except DynamoLiteError as error:
        return ("failed" if error.id == "internal" else "refused"), f"{error.id}: {str(error).splitlines()[0]}"
    except Exception as error:
        try:
            copy.deepcopy(mod)(*copy.deepcopy(calls[0]))
        except Exception as eager:
            return ("raises" if type(eager) is type(error) else "failed"), repr(error)
        return "failed", repr(error)
    made = ep.module()
    admitted = [call for call in calls if _admits(made, call)]
    wrong = differences(lambda: copy.deepcopy(made), mod, admitted)
    late: list[str] = []
    if seed >= GRADIENTS:
        gradients, late = random_while_loops.gradients(made, mod, admitted)
        wrong += gradients
    if late and not wrong:
        return "late", late[0]
    return ("wrong", "\n".join(wrong)) if wrong else ("equal", str(_operators(ep)))


class _Endless(BaseException):
    """Raised in a call that has run too many lines; no handler of a program catches it."""


def _ends(mod: torch.nn.Module, call: tuple[torch.Tensor, ...]) -> bool:
    """Whether eager's call ends, or raises, within so many lines of the program."""
    lines, program = 0, type(mod).forward.__code__.co_filename

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines > _LINES:
            raise _Endless
        return count

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        return count if frame.f_code.co_filename == program else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        copy.deepcopy(mod)(*copy.deepcopy(call))
    except _Endless:
        return False
    except Exception:
        return True
    finally:
        sys.settrace(before)
    return True


def _admits(made: Any, call: tuple[torch.Tensor, ...]) -> bool:
    """Whether the program was exported for such inputs: a loop that is unrolled fixes a size."""
    try:
        with torch.set_grad_enabled(True):  # torch's wrap_with_set_grad_enabled does not put it back after an error
            copy.deepcopy(made)(*copy.deepcopy(call))
    except Exception as error:
        return "input_mismatch" not in str(error) and "Guard failed" not in str(error)
    return True


def _operators(ep: torch.export.ExportedProgram) -> int:
    return sum(str(node.target) in ("cond", "while_loop") for node in ep.graph.nodes)


def main() -> None:
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            with time_limit(_SECONDS):
                result, why = outcome(seed)
        except TimeIsUp:
            result, why = "no answer", ""
        counts[result] += 1
        if result == "refused":
            reasons[why[:110]] += 1
        if result in ("wrong", "failed", "no answer"):
            print(f"seed {seed}: {result}\n{source(seed)}\n{why}\n", flush=True)
        if seed % 10 == 9:
            print(seed, counts, flush=True)
    print(counts)
    for reason, count in reasons.most_common(25):
        print(f"{count:5} {reason}")


if __name__ == "__main__":
    main()
