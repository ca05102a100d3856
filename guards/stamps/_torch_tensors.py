"""Where torch keeps what guards ask of a tensor: found out and tried on the torch that is installed.

A tensor's metadata (sizes, strides, dtype, device, dispatch keys) is one block of memory; whether it requires grad is
in another that the block points to. The ends of both are found from Python's answers. Then each way to change a tensor
is tried: where one changes the facts and not the words, there is no layout, and tensors are asked at each check.

Checked with torch 2.13.0 and 2.15.0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch._C import _dispatch_keys

from dynamo_lite.guards.stamps.layout import TYPE, WORD, word
from dynamo_lite.guards.stamps.words import Words
from dynamo_lite.guards.tensors import facts_of
from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "stamps of guards on tensors"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:DispatchKeySet.raw_repr", "the number by which the last word of a tensor's block is found"),
    Symbol("torch._C:TensorBase._cdata", "the address of a tensor's block"),
    Symbol("torch._C:TensorBase._is_view", "a view asks its base whether it requires grad"),
    Symbol("torch._C:_dispatch_keys", "the number by which the last word of a tensor's block is found"),
)

_FAR = 64
"""No block is read further than this many words."""
_RANK = 5
"""Sizes of tensors of a higher rank are in memory of their own."""
_FIRST = 2
"""After the table of functions and the reference counts, which change all the time."""


class TensorLayout(NamedTuple):
    """Offsets in words; `block` in the Python object, `grad` in the block, `flag` and `history` in what that points to.

    grad: the address of what autograd keeps. last: the dispatch keys. flag: whether it requires grad. history: what is
    there only if an operator has made the tensor's value.
    """

    block: int
    sizes: int
    strides: int
    last: int
    grad: int
    flag: int
    history: tuple[int, ...]

    def keep(self, tensor: torch.Tensor, words: Words) -> bool:
        """Keeps the words of a tensor's facts; false if they do not tell all of them."""
        words.keep(id(tensor) + TYPE)
        block = words.keep(id(tensor) + WORD * self.block)
        rank = tensor.dim()
        if block != tensor._cdata or rank > _RANK or tensor.layout is not torch.strided or tensor._is_view():
            return False
        for offset in self._offsets(rank):
            words.keep(block + WORD * offset, 1)
        grad = word(block + WORD * self.grad)
        if grad:
            by_hand = tensor.requires_grad and tensor.is_leaf
            for offset in (self.flag,) if by_hand else (self.flag, *self.history):
                words.keep(grad + WORD * offset, 2)
        return True

    def _offsets(self, rank: int) -> Iterator[int]:
        yield self.grad
        for first, after in ((self.sizes, self.strides), (self.strides, self.strides + _RANK)):
            yield from range(first, first + rank)
            yield from range(first + _RANK, after)
        yield from range(min(self.grad, self.sizes - 1) + 1, self.sizes)
        yield from range(self.strides + _RANK, self.last + 1)


@functools.cache
def tensor_layout() -> TensorLayout | None:
    """None where stamps cannot answer for tensors."""
    with torch.inference_mode(False), torch.enable_grad():
        found = _find()
        return found if found is not None and _tells(found) else None


def _find() -> TensorLayout | None:
    primes, others = (2, 3, 5, 7, 11), (101, 103, 107, 109, 113)
    probe = torch.empty_strided(primes, others, dtype=torch.float32, device="cpu")
    block = _first(lambda at: word(id(probe) + WORD * at) == probe._cdata, torch.Tensor.__basicsize__ // WORD)
    keys = _dispatch_keys(probe).raw_repr()
    last = _first(lambda at: word(probe._cdata + WORD * at) == keys)
    if block is None or last is None:
        return None
    words = [word(probe._cdata + WORD * at) for at in range(last + 1)]
    sizes, strides = _run(words, primes), _run(words, others)
    leaf = torch.zeros(2, dtype=torch.float32, device="cpu")
    before = [word(leaf._cdata + WORD * at) for at in range(last + 1)]
    leaf.requires_grad_(True)
    changed = [at for at, old in enumerate(before) if at >= _FIRST and word(leaf._cdata + WORD * at) != old]
    if sizes is None or strides is None or sizes >= strides or len(changed) != 1 or before[changed[0]]:
        return None
    return _with_autograd(TensorLayout(block, sizes, strides, last, changed[0], 0, ()), leaf)


def _with_autograd(found: TensorLayout, leaf: torch.Tensor) -> TensorLayout | None:
    grad = word(leaf._cdata + WORD * found.grad)

    def is_flag(at: int) -> bool:
        leaf.requires_grad_(True)
        on = word(grad + WORD * at)
        leaf.requires_grad_(False)
        return word(grad + WORD * at) != on

    flag = _first(is_flag)
    if flag is None:
        return None
    leaf.requires_grad_(False)
    before = [word(grad + WORD * at) for at in range(flag + 1)]
    leaf.mul_(torch.ones(2, dtype=torch.float32, device="cpu", requires_grad=True))
    history = tuple(at for at, old in enumerate(before) if not old and word(grad + WORD * at))
    return found._replace(flag=flag, history=history) if history else None


def _first(holds: Callable[[int], bool], end: int = _FAR) -> int | None:
    """The first offset for which it holds: nothing after it is read."""
    return next((at for at in range(end) if holds(at)), None)


def _run(words: list[int], part: tuple[int, ...]) -> int | None:
    found = [at for at in range(len(words)) if tuple(words[at : at + len(part)]) == part]
    return found[0] if len(found) == 1 else None


CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "resize_": lambda t: t.resize_(*reversed(t.shape), 2) if t.dim() else t.resize_(3),
    "resize_ to as many": lambda t: t.resize_(*reversed(t.shape)),
    "resize_ of one": lambda t: t.resize_(t.shape[0] + 1, *t.shape[1:]),
    "transpose_": lambda t: t.transpose_(0, -1),
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(),
    "as_strided_": lambda t: t.as_strided_(t.shape, [1] * t.dim()),
    "set_": lambda t: t.set_(t.new_zeros(3, 1)),
    "another dtype": lambda t: setattr(t, "data", t.data.double()),
    "sizes by data": lambda t: setattr(t, "data", t.data.new_zeros(4, 1, 7)),
    "requires_grad_": lambda t: t.requires_grad_(not t.requires_grad),
    "requires_grad": lambda t: setattr(t, "requires_grad", not t.requires_grad),
    "history": lambda t: t.mul_(torch.ones_like(t, requires_grad=True)),
    "detach_": lambda t: t.detach_(),
    "a plain class": lambda t: setattr(t, "__class__", torch.Tensor),
    "a Parameter": lambda t: setattr(t, "__class__", torch.nn.Parameter),
    "swapped": lambda t: torch.utils.swap_tensors(t, type(t)(t.detach().new_zeros(9))),
    "back and forth": lambda t: t.requires_grad_(True) and t.requires_grad_(False),
}
"""Ways to change a tensor from outside."""


def tensors() -> Iterator[tuple[str, torch.Tensor]]:
    """A tensor of each form that has a layout, with a name for it."""
    for rank in range(_RANK + 1):
        yield f"rank {rank}", torch.zeros((2, 3, 1, 4, 5)[:rank], dtype=torch.float32, device="cpu")
    for requires_grad in (True, False):
        data = torch.zeros(2, 3, dtype=torch.float32, device="cpu")
        yield f"parameter {requires_grad}", torch.nn.Parameter(data, requires_grad)
    yield "was one", torch.zeros(2, 3, dtype=torch.float32, device="cpu").requires_grad_().requires_grad_(False)
    yield "made", torch.ones(2, 3, dtype=torch.float32, device="cpu", requires_grad=True) * 2
    yield "meta", torch.zeros(2, 3, dtype=torch.float32, device="meta")


def _tells(found: TensorLayout) -> bool:
    """Whether no change of CHANGES gives a tensor other facts and leaves its words."""
    for change in CHANGES.values():
        for _, tensor in tensors():
            words = Words()
            if not found.keep(tensor, words):
                return False
            before = facts_of(tensor)
            try:
                change(tensor)
            except (RuntimeError, TypeError, IndexError, NotImplementedError):
                continue  # not for this tensor
            if words.hold() and facts_of(tensor) != before:
                return False
    return True
