"""Random small stateful modules, written as source text: `source(seed)`.

A program is a few statements drawn from tables. Quiet ones only compute; the others read and write state: attributes,
lists, dicts, objects, globals, closures, buffers, inputs, views. What eager does is the truth, so a statement may do
anything that eager can do twice in the same way; export must refuse the program or get all three calls right.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEADER = """\
import array, bisect, collections, contextvars, copy, functools, heapq, itertools, operator, threading, types, weakref
import numpy as np
import torch
from torch import nn

G = {"n": 1, "xs": [1, 2]}
COUNT = 0
MEMO = {}


class Box:
    kind = 1

    def __init__(self, n):
        self.n = n
        self.kept = None

    def bump(self, by=1):
        self.n = (self.n + by) % 7
        return self.n


class Slots:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


VAR = contextvars.ContextVar("generated", default=1)


def defaulted(n, seen=[]):
    seen.append(n)
    return len(seen) % 4


class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.w = nn.Parameter(torch.full((3,), 0.5))
        self.n = 1

    def forward(self, x):
        return x * self.w + self.b


@functools.lru_cache(maxsize=None)
def square(n):
    return n * n


def make_counter():
    n = 0

    def count():
        nonlocal n
        n = (n + 1) % 5
        return n

    return count


class M(nn.Module):
    limit = 3

    def __init__(self):
        super().__init__()
        self.register_buffer("b0", torch.zeros(3))
        self.register_buffer("b1", torch.arange(3.0), persistent=False)
        self.register_buffer("step", torch.tensor(1))
        self.register_buffer("none", None)
        self.w = nn.Parameter(torch.ones(3))
        self.sub = Sub()
        self.same = self.sub
        self.n, self.flag, self.memo, self.last = 1, True, None, None
        self.xs, self.d, self.box = [1, 2], {"a": 2, "b": 1}, Box(2)
        self.q, self.plain = collections.deque([1, 2], maxlen=3), torch.full((3,), 0.25)
        self.count, self.tick = make_counter(), itertools.count(1)
        self.ref = weakref.ref(self.sub)
        self.arr, self.np, self.raw = array.array("i", [1, 2]), np.array([1.0, 2.0]), bytearray(b"\\x01\\x02")
        self.od, self.counter = collections.OrderedDict(a=1, b=2), collections.Counter("aab")
        self.slots, self.ns, self.local = Slots(1), types.SimpleNamespace(n=1), threading.local()
        self.err = ValueError(1)
        self.push, self.its = self.xs.append, [itertools.count(2)]
"""

FORWARD = """\

    def forward(self, {parameters}):
        global COUNT
        z, k, vs = x * 0.5, 1, [x]
"""

FOOTER = """\


def build():
    global COUNT
    G.clear()
    G.update(n=1, xs=[1, 2])
    MEMO.clear()
    square.cache_clear()
    Box.kind, M.limit, COUNT = 1, 3, 0
    defaulted.__defaults__[0].clear()
    VAR.set(1)
    if "extra_name" in vars(M):
        del M.extra_name
    return M().train(), {arguments}
"""

QUIET = """\
z = torch.tanh(z + x)
z = z * self.w + y
k = len(self.xs) + self.n
z = z + k
z = self.sub(z)
z = self.same(z) - self.b1
vs.append(z)
vs = [v + i for i, v in enumerate(vs)]
z = sum(vs) * 0.5
z = z + self.d["a"] * G["n"]
z = z * self.step
z = z + self.plain
v = z.clone(); v[0] = y[1]; z = v
v = z.clone(); v.view(-1)[::2].mul_(0.5); z = v
box = Box(k % 5); box.bump(); z = z + box.n
z = z.t().contiguous().t()
z = torch.cat([z, y])[:2]
k = max(self.xs, key=lambda i: -i) + len(self.q)
k = square(k % 4) + self.limit
z = z + sum(i for i in range(3) if i != k)
z = z + (1 if self.training else 2)
with torch.no_grad(): z = z + self.w * 2
z = z + self.ref().n
k = self.box.n + Box.kind
z = functools.reduce(lambda a, b: a + b, vs, z)
z = torch.where(z > 0, z, -0.1 * z)
z = z.detach() + z
d = dict(self.d); d["a"] += 1; k = d["a"]
z = z + (self.none is None) + (self.memo is None)
z = z + (0 if self.last is None else 1)
a, *rest = vs; z = z + a * len(rest)
k = {"a": 1, "b": 2}.get("ab"[k % 2], 0)
z = torch.stack([z, y]).mean(0)
z = z + torch.zeros(3) + self.b0
u = z; u = u + 1; z = z * u""".splitlines()

STATE = """\
self.n = (self.n + 1) % 4
self.n = 3
self.n = self.n
self.flag = not self.flag
self.last = z
self.last = z.shape[0]; k = self.last
self.last = None
self.__dict__["n"] = k % 3
setattr(self, "n", 2)
object.__setattr__(self, "n", (self.n * 2) % 5)
del self.d["b"]
self.fresh = k
self.fresh = 1; k = self.fresh
k = getattr(self, "fresh", 0); self.fresh = 2
self.xs.append(k); k = len(self.xs)
self.xs.append(k); self.xs.pop()
self.xs[0] = (self.xs[0] + 1) % 5
self.xs = [*self.xs, 1]
self.xs = list(self.xs)
self.xs.reverse()
self.xs.sort()
self.d["a"] = (self.d["a"] + 1) % 5
self.d["c"] = 1
self.d.update(a=2)
k = self.d.setdefault("n", k)
k = self.d.pop("n", 5)
self.q.append(k % 4)
self.q.rotate(1); k = self.q[0]
self.box.bump(); z = z + self.box.n
self.box.n = 2
self.box.kept = z; z = self.box.kept + 1
k = 0 if self.box.kept is None else 1; self.box.kept = z
self.box = Box(3)
old = self.box.n; self.box.n = 5; z = z + self.box.n; self.box.n = old
Box.kind += 1
Box.kind = 1
self.limit = 4
type(self).limit = (self.limit + 1) % 4
G["n"] = (G["n"] + 1) % 4
G["n"] = 1
G["xs"].append(1); k = len(G["xs"])
COUNT += 1; z = z + COUNT
COUNT = 7; k = COUNT
k = COUNT; COUNT = 3
MEMO[k] = 1; k = len(MEMO)
k = MEMO.setdefault("k", 4)
k = self.count()
k = next(self.tick) % 3
k = square(k) + square.cache_info().misses
self.memo = self.memo or 3; k = self.memo
if self.memo is None: self.memo = torch.arange(3.0)
if self.memo is None: self.memo = z.detach()
if self.memo is not None: z = z + self.memo
self.eval()
self.sub.train(not self.sub.training); z = z + self.sub.training
self.sub = Sub()
self.sub.n += 1; z = z * self.sub.n
self.b0.add_(z.detach().mean(0))
self.b0 = self.b0 * 0.5 + z.detach().mean(0)
self.b0 = self.b1
self.b0, self.b1 = self.b1, self.b0
self.b0 = self.b0; z = z + self.b0
v = self.b0; self.b0 = self.b0 + 1; z = z + v
v = self.b0; self.b0.add_(1); z = z + v
self._buffers["b1"] = self.b1 + 1
setattr(self, "b1", self.b1 * 0.5)
del self.b1; self.register_buffer("b1", torch.ones(3))
self.b1.data.mul_(0.5)
self.b1[0] = z.detach().sum(); z = z + self.b1
self.b1[:2].zero_()
self.b0.copy_(self.b1)
self.b0 = torch.zeros(3)
self.b0 = self.b0.double()
self.b0 = None
self.none = torch.ones(3)
self.step += 1; z = z / self.step
self.step = self.step + 1
self.sub.b = self.sub.b * 0.5
self.same.b.add_(1); z = z + self.sub.b
self.b0 = self.sub.b
self.plain = self.plain * 0.5
self.plain.mul_(0.5); z = z + self.plain
with torch.no_grad(): self.w.mul_(0.9)
self.w.data.sub_(0.1)
self.w = nn.Parameter(torch.zeros(3))
self.register_buffer("extra", torch.ones(3)); z = z + self.extra
self.extra = torch.ones(3); z = z + self.extra
x.add_(1); z = z + x
x.mul_(0.5); y.add_(x)
x[0] = z.detach()[1]; z = z * x
x.view(-1)[0] = 2; z = z + x
x.data.add_(1); z = z + x
x.detach().add_(1); z = z + x
x.data = y * 1; z = z + x
x.tag = getattr(x, "tag", 0) + 1; z = z + x.tag
z.data.add_(1)
z.tag = 3; z = z + z.tag
self.w.grad = None
self.w.requires_grad_(False)
hook = self.sub.register_forward_hook(lambda m, i, o: o * 2); z = self.sub(z); hook.remove()
self.sub.register_forward_hook(lambda m, i, o: o + 1)
try: raise ValueError(self.box.bump())
except ValueError as e: z = z + e.args[0]
torch.set_grad_enabled(False)
z = z + torch.rand(3)
self.fn = lambda v: v * 2; z = self.fn(z)
self.__class__.limit = 3
vars(self)["n"] = 1
self.ref = weakref.ref(self.sub)
self.tup = (k, 1); z = z + self.tup[0]
z = z + float(k == 2); self.n = int(self.flag)
self.arr[0] = (self.arr[0] + 1) % 5; z = z + self.arr[0]
self.arr.append(k % 3); z = z * len(self.arr)
self.arr[0] = 7; self.arr[0] = 1
self.np[0] += 1; z = z + float(self.np[0])
self.np *= 2; z = z + float(self.np.sum())
np.copyto(self.np, 1.0); z = z + float(self.np[1])
part = self.np[:1]; part[0] = 3; z = z + float(self.np[0])
v = np.zeros(2); v[0] = k; z = z + float(v.sum())
self.raw[0] = (self.raw[0] + 1) % 4; z = z + self.raw[0]
memoryview(self.raw)[1] = (self.raw[1] + 1) % 4; z = z + self.raw[1]
self.od.move_to_end("a"); z = z * next(iter(self.od.values()))
self.od["c"] = k; z = z + len(self.od)
self.counter.update("a"); z = z + self.counter["a"] % 3
self.counter["a"] = 2; z = z + self.counter["a"]
list(map(self.xs.append, [k])); z = z + len(self.xs)
self.push(k % 2); z = z + len(self.xs)
sorted([k], key=self.xs.append); z = z + len(self.xs)
functools.reduce(operator.iadd, [[1]], self.xs); z = z + len(self.xs)
heapq.heappush(self.xs, k % 3); z = z + self.xs[0]
bisect.insort(self.xs, 2); z = z + len(self.xs)
operator.setitem(self.d, "a", k % 3); z = z + self.d["a"]
self.xs[1:] = [k % 3]; z = z + len(self.xs)
self.xs *= 2; z = z + len(self.xs)
self.slots.n = (self.slots.n + 1) % 3; z = z + self.slots.n
Slots.n.__set__(self.slots, 2); z = z + self.slots.n
self.ns.n += 1; z = z + self.ns.n
self.ns.n = 4; z = z + self.ns.n
self.box.__dict__ = {"n": (self.box.n + 1) % 4, "kept": None}; z = z + self.box.n
self.local.n = getattr(self.local, "n", 0) + 1; z = z + self.local.n % 3
self.err.args = (k,); z = z + len(self.err.args)
try: raise self.err
except ValueError as e: z = z + len(e.args)
token = VAR.set(k); z = z + VAR.get(); VAR.reset(token)
VAR.set(VAR.get() % 3 + 1); z = z + VAR.get()
z = z + defaulted(k)
for it in self.its: z = z + next(it) % 3
type(self).extra_name = getattr(type(self), "extra_name", 0) + 1; z = z + self.extra_name % 3
vs.append(z); list(map(vs.append, [z])); z = z + len(vs)
own = dict(a=1); own |= {"b": 2}; own.update(c=3); z = z + len(own)""".splitlines()

DATA = """\
if z.sum() > 0: z = z + 1
k = int(z.sum().item()) % 3
z = z + z[z > 0].sum()
k = len(str(z)) % 3
k = id(z) % 3
k = len(z.tolist())""".splitlines()

RETURNS = """\
return z
return z, k
return {"z": z, "x": x}
return [z, z.view(-1), y]
return z, self.b0
return z + self.b0 + self.b1, self.n, self.flag
return x[0], z
return z, tuple(self.xs), dict(self.d)
return z, self.w, len(vs)""".splitlines()

TESTS = """\
self.flag
self.n > 1
len(self.xs) > 2
self.last is None
k % 2
G["n"] == 1
"c" in self.d
x.shape[0] == 2""".splitlines()


def _pair(lines: list[str], at: int) -> list[str]:
    """A statement with its continuation (`try` and its `except`)."""
    if lines[at].startswith("except"):
        at -= 1
    return lines[at : at + 2] if lines[at].startswith("try") else [lines[at]]


@dataclass(frozen=True)
class Signature:
    """The parameters of `forward`, what it is called with (args, or args and kwargs), and statements that begin it and
    set `x` and `y` where no parameter does."""

    parameters: str = "x, y"
    arguments: str = "(torch.randn(2, 3), torch.randn(2, 3))"
    begins: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """What programs are written with beside QUIET: statements that touch state, lines of `__init__` and of the file,
    and the signatures of `forward` beside `Signature()`."""

    state: list[str] = field(default_factory=lambda: STATE)
    init: list[str] = field(default_factory=list)
    header: str = ""
    signatures: list[Signature] = field(default_factory=list)


PLAIN = Vocabulary()


def _statement(rng: random.Random, words: Vocabulary) -> list[str]:
    table = rng.choices([QUIET, words.state, DATA], [0.62, 0.37, 0.01])[0]
    return _pair(table, rng.randrange(len(table)))


def _block(rng: random.Random, words: Vocabulary) -> list[str]:
    """One statement, or a branch or a loop around one or two."""
    roll = rng.random()
    first = _statement(rng, words)
    if roll < 0.75 or any("global" in line for line in first):
        return first
    inner = [f"    {line}" for line in first]
    if roll < 0.90:
        return [f"if {rng.choice(TESTS)}:", *inner, "else:", *(f"    {line}" for line in _statement(rng, words))]
    if roll < 0.96:
        return ["for i in range(2):", *inner, "    z = z * 0.5"]
    return ["try:", *inner, "finally:", "    z = z + 1"]


def _signature(seed: int, words: Vocabulary) -> Signature:
    return random.Random(f"signature {seed}").choice([Signature(), *words.signatures])


def _parts(seed: int, words: Vocabulary) -> tuple[str, str]:
    """What stands before the body of `forward`, and the body."""
    rng = random.Random(seed)
    lines: list[str] = []
    signature = _signature(seed, words)
    for _ in range(rng.randint(2, 6)):
        lines += _block(rng, words)
    lines.append(rng.choice(RETURNS))
    return _before(words, signature), "".join(f"        {line}\n" for line in lines)


def _before(words: Vocabulary, signature: Signature) -> str:
    init = "".join(f"        {line}\n" for line in words.init)
    forward = FORWARD.replace("{parameters}", signature.parameters)
    if signature.begins:
        forward = forward.replace("        z, k", f"        {signature.begins}\n        z, k")
    return words.header + HEADER + init + forward


def source(seed: int, words: Vocabulary = PLAIN) -> str:
    """The program of `seed`: a module with `build()`, which returns (module, args)."""
    return "".join(_parts(seed, words)) + FOOTER.replace("{arguments}", _signature(seed, words).arguments)


def body(seed: int, words: Vocabulary = PLAIN) -> str:
    """The part of the source that is particular to `seed`."""
    return _parts(seed, words)[1]


def complete(lines: list[str], words: Vocabulary, signature: Signature) -> str:
    """The source of the program with these lines as the body of `forward`."""
    body = "".join(f"        {line}\n" for line in lines)
    return _before(words, signature) + body + FOOTER.replace("{arguments}", signature.arguments)
