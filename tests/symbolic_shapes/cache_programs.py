"""Random sequences of operators, facts, rollbacks and changes in place, for the symbolic dispatch cache: with the cache
and without it a sequence must give the same tensors, the same errors and the same facts.
"""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.nn import functional as F

from dynamo_lite.symbolic_shapes.torch_env import shared_history
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import SymbolicCache, fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor

aten = torch.ops.aten
Operator = Callable[[torch.Tensor, torch.Tensor], Any]

OPERATORS: tuple[Operator, ...] = (
    # dtypes and promotion of Python numbers
    lambda a, b: a + b, lambda a, b: a * 2, lambda a, b: a * 2.5, lambda a, b: a > 1, lambda a, b: a + True,
    lambda a, b: a.to(torch.float64), lambda a, b: a.to(torch.int64), lambda a, b: a.logical_not(),
    lambda a, b: torch.where(a > b, a, b), lambda a, b: torch.where(a > 0, a, 1.0),
    # views, and what may be one
    lambda a, b: a.transpose(0, -1), lambda a, b: a.view(-1), lambda a, b: a.reshape(a.shape[0], -1),
    lambda a, b: a.reshape(b.shape), lambda a, b: a.view(b.shape), lambda a, b: a.flatten(), lambda a, b: a.squeeze(),
    lambda a, b: a.squeeze(0), lambda a, b: aten.squeeze.dim(a, -1), lambda a, b: a.unsqueeze(0), lambda a, b: a[1:],
    lambda a, b: a[:3], lambda a, b: a[::2], lambda a, b: a[-1] if a.dim() else a, lambda a, b: a.expand(2, *a.shape),
    lambda a, b: a.expand_as(b), lambda a, b: torch.broadcast_to(a, b.shape), lambda a, b: a.narrow(0, 1, 2),
    lambda a, b: torch.broadcast_tensors(a, b), lambda a, b: a.split(2, 0), lambda a, b: a.chunk(2, 0),
    lambda a, b: a.unbind(0)[0], lambda a, b: a.diagonal(), lambda a, b: a.movedim(0, -1),
    lambda a, b: a.unfold(0, 2, 1), lambda a, b: a.unflatten(0, (-1, 2)), lambda a, b: a.real, lambda a, b: a.detach(),
    lambda a, b: a.data, lambda a, b: a.as_strided((a.shape[0], 2), (1, 1)), lambda a, b: a.contiguous(),
    lambda a, b: aten.slice.Tensor(a, 0, 1, a.shape[0] - 1), lambda a, b: aten.select.int(a, 0, a.shape[0] - 1),
    # own memory
    lambda a, b: a.clone(), lambda a, b: torch.cat([a, b], -1), lambda a, b: torch.stack([a, b]),
    lambda a, b: a @ b.transpose(-1, -2), lambda a, b: a.sum(0), lambda a, b: a.mean(-1, keepdim=True),
    lambda a, b: a.softmax(-1), lambda a, b: F.layer_norm(a, (a.shape[-1],)), lambda a, b: F.pad(a, (1, -1)),
    lambda a, b: F.pad(a, (1, 2)), lambda a, b: a.roll(1), lambda a, b: a.flip(0), lambda a, b: a.tril(),
    lambda a, b: a.repeat(2, *[1] * (a.dim() - 1)), lambda a, b: a.index_select(0, torch.zeros(2, dtype=torch.int64)),
    lambda a, b: a.max(0), lambda a, b: a.topk(2, 0), lambda a, b: a.sort(0), lambda a, b: torch.var_mean(a, 0),
    lambda a, b: a.cumsum(0), lambda a, b: aten.view_copy(a, [-1]), lambda a, b: F.avg_pool1d(a.unsqueeze(0), 2),
    lambda a, b: F.conv1d(a.unsqueeze(0), b.unsqueeze(0)), lambda a, b: F.interpolate(a.unsqueeze(0), scale_factor=2),
    # made again, and from random numbers
    lambda a, b: a.new_zeros(a.shape[0] * 2), lambda a, b: torch.empty_like(a), lambda a, b: torch.arange(a.shape[0]),
    lambda a, b: torch.zeros_like(a, dtype=torch.float16), lambda a, b: torch.full((a.shape[0],), a.shape[-1]),
    lambda a, b: torch.linspace(0, 1, a.shape[0]), lambda a, b: torch.rand_like(a),
    lambda a, b: torch.dropout(a, 0.5, True),
    lambda a, b: torch.empty_permuted(tuple(a.shape), tuple(range(a.dim() - 1, -1, -1))),
    # changes in place, and sizes that only run time knows
    lambda a, b: a.add_(1), lambda a, b: a.mul_(b), lambda a, b: a.copy_(b), lambda a, b: a.t_(),
    lambda a, b: a.unsqueeze_(0), lambda a, b: a.resize_(a.shape[0]), lambda a, b: a.nonzero(), lambda a, b: a[a > 0],
    # the program asks about layout
    lambda a, b: a + 1 if a.is_contiguous() else a * 2,
)  # fmt: skip

FACTS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda s, t: torch._check(s == t), lambda s, t: torch._check(s >= 2), lambda s, t: bool(s > t),
    lambda s, t: torch._check(s % 2 == 0), lambda s, t: torch._check(s <= 50),
)  # fmt: skip

CALLERS: tuple[Callable[[TorchShapeEnv], AbstractContextManager[Any]], ...] = (
    *([lambda env: nullcontext()] * 12), lambda env: env.suppress_guards(), lambda env: env.exactly(),
    lambda env: env.inside_operator(aten.view.default), lambda env: env.inside_operator(aten.squeeze.default),
    lambda env: env.inside_operator(aten.sum.default), lambda env: env.inside_operator(aten.convolution.default),
)  # fmt: skip


class Session:
    """One run of a sequence. `log`: what each step gave, and the facts after it."""

    def __init__(self, seed: int, *, cache: bool) -> None:
        shared_history.forget()  # answers of the other run
        self._random = random.Random(seed)
        self.env = TorchShapeEnv()
        self._mode = fake_mode(self.env, cache=cache)
        self.cache: SymbolicCache = self._mode.symbolic_cache  # type: ignore[attr-defined]
        self.log: list[tuple[Any, ...]] = []
        self._memories: dict[int, int] = {}
        self._held: list[Any] = []  # so that no memory's address is used twice
        self._snapshots: list[tuple[Any, int]] = []
        rows, columns = self._random.choice([1, 2, 3, 4, 6]), self._random.choice([1, 2, 3, 4, 6])
        shapes = [(rows, columns), (rows, columns), (columns,), (2, rows, columns)]
        self._pool = [self._input(shape) for shape in shapes]

    def _input(self, shape: tuple[int, ...]) -> torch.Tensor:
        policy: list[Fresh | None] = []
        for _ in shape:
            kind = self._random.random()
            lo = self._random.choice([0, 1])
            policy.append(None if kind < 0.15 else Fresh(lo=lo, unbacked=kind > 0.9))
        return create_symbolic_tensor(self._mode, torch.zeros(shape), policy)

    def run(self, steps: int = 22) -> "Session":
        few = self._random.choices(OPERATORS, k=6)  # so that calls repeat
        with self._mode, enable_python_dispatcher():
            for _ in range(steps):
                try:
                    self._step(few)
                except Exception as error:  # an operator refuses its arguments: the same in both runs
                    self.log.append((type(error).__name__, str(error).split("\n")[0]))
                self.log.append(tuple(f"{fact.relation} ({fact.kind})" for fact in self.env.core.facts))
        self.log += [("at the end", *self._describe(t)) for t in self._pool]
        return self

    def _step(self, few: list[Operator]) -> None:
        kind = self._random.random()
        if kind < 0.06:
            self._snapshots.append((self.env.core.snapshot(), len(self._pool)))
        elif kind < 0.11 and self._snapshots:
            token, count = self._snapshots.pop()
            self.env.core.rollback(token)
            del self._pool[count:]
        elif kind < 0.2:
            sizes = [*self._random.choice(self._pool).shape, *self._random.choice(self._pool).shape] or [1]
            self._random.choice(FACTS)(self._random.choice(sizes), self._random.choice(sizes))
        else:
            self._call(self._random.choice(few))

    def _call(self, operator: Operator) -> None:
        a, b = self._random.choice(self._pool), self._random.choice(self._pool)
        with self._random.choice(CALLERS)(self.env):
            result = operator(a, b)
        results = result if isinstance(result, (tuple, list)) else [result]
        self._held.append(results)
        for tensor in results:
            self.log.append(self._describe(tensor))
            if len(self._pool) < 14:
                self._pool.append(tensor)

    def _describe(self, t: torch.Tensor) -> tuple[Any, ...]:
        """What a program can see of a fake tensor: sizes as expressions, strides, dtype, whose memory it is."""
        memory = t.untyped_storage()
        name = self._memories.setdefault(memory._cdata, len(self._memories))
        sizes = Sizes([self.env.unwrap(s) for s in (*t.shape, *t.stride(), t.storage_offset(), memory.nbytes())], self)
        return (type(t), t.dtype, t.device, t.dim(), sizes, name, t._version, t._is_view(), t.requires_grad)


class Sizes:
    """Numbers of one session, to compare with those of the other, whose symbols have the same names. Equal: the same
    expression, or provably so under what the session knew (a range that leaves one value does not rewrite a size)."""

    def __init__(self, values: list[Any], session: Session) -> None:
        self.text = [str(value) for value in values]
        facts = session.env.core
        self.now = [str(facts.simplify(value)) for value in values]
        self.fixed = [str(lo) if lo == hi else None for lo, hi in map(facts.bounds, values)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sizes) or len(self.text) != len(other.text):
            return False
        rows = zip(self.text, self.now, self.fixed, other.text, other.now, other.fixed)
        return all(a == d or b == e or (c is not None and c == f) for a, b, c, d, e, f in rows)

    def __repr__(self) -> str:
        return repr(self.text)


def check(seed: int) -> int:
    """Run one sequence with and without the cache; the number of hits. AssertionError if they differ."""
    without, cached = Session(seed, cache=False).run(), Session(seed, cache=True).run()
    for step, (expected, given) in enumerate(zip(without.log, cached.log, strict=True)):
        assert expected == given, f"seed {seed}, entry {step}:\n  without {expected}\n  cached  {given}"
    return cached.cache.hits
