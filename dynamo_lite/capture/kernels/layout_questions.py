"""The properties of memory layout that the program depends on: they hold for the example's inputs only.

The program reads one (`x.stride()`), or its result depends on one: `x.contiguous()` is x itself or a copy. As long as
only the values are used, both are right. Whether the two are one object, or share memory that is written or returned,
depends on layout as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.static_cache import Inexact
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.layout import QUESTIONS

aten = torch.ops.aten

ANSWERED: Mapping[Any, str] = MappingProxyType({
    aten.is_contiguous.default: "contiguity", aten.is_contiguous.memory_format: "strides",
    aten.sym_is_contiguous.default: "strides",
    aten.is_non_overlapping_and_dense.default: "strides", aten.is_strides_like_format.default: "strides",
    aten.stride.default: "strides", aten.stride.int: "strides", aten.sym_stride.default: "strides",
    aten.sym_stride.int: "strides", aten.storage_offset.default: "offset", aten.sym_storage_offset.default: "offset",
})  # fmt: skip
"""Operators that return layout properties as numbers, and the property."""

COPIES_OR_VIEWS = frozenset({
    aten.reshape.default, aten.flatten.using_ints, aten.ravel.default, aten.reshape_as.default,
    aten.contiguous.default,
})  # fmt: skip
"""Operators whose result is a view of their argument or a copy, depending on the argument's memory layout."""

FAILS_BY_LAYOUT = frozenset({
    aten.view.default, aten.view.dtype, aten.view_as.default, aten.view_as_complex.default, aten._unsafe_view.default,
})  # fmt: skip
"""Operators that raise a RuntimeError if their argument has another memory layout."""


CONTIGUOUS_RESULTS = frozenset({
    aten.linear.default, aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default,
    aten.embedding.default, aten.layer_norm.default, aten.native_layer_norm.default,
})  # fmt: skip
"""Operators whose result is contiguous, however their arguments are laid out (aten/src/ATen/native: LinearAlgebra.cpp,
Linear.cpp, layer_norm.cpp, Embedding.cpp; torch 2.13.0)."""


class LayoutQuestions:
    """asked: what the program requires to be as in the example (`Asked`).

    chooses: whether an operator has returned a view or a copy depending on layout.
    copies: results that may be views in other calls, unless of an input (run/copies_or_views.py).
    knows_copies: whether `contiguous()` may be recorded as a copy where the example's is the tensor itself.
    unasked: operators whose results may differ in layout from their fake tensors: the kernel could not be run.
    """

    def __init__(self, env: TorchShapeEnv | None, restart: Callable[[Inexact], NoReturn]) -> None:
        self._env, self._restart = env, restart
        self.questions: set[Asked] = set()
        self.unasked: set[str] = set()
        self._open: dict[int, list[_Open]] = {}  # by memory: the dependencies that apply once sharing matters
        self._shared: list[set[int]] = []  # pairs of memory that are one, or two, as layout decides
        self._kept: list[Any] = []  # that memory, so that no other gets its key
        self.copies: list[Copy] = []
        self.chooses = False
        self.knows_copies = True
        self._inputs: frozenset[int] = frozenset()
        self._told_apart: set[int] = set()  # memory of tensors whose attributes differ from those of a copy

    def ask(self, question: str, input: int | None = None, dim: int | None = None) -> None:
        """The program depends on a property of the inputs' layout, as `Asked` describes it."""
        self.questions.add(Asked(question, input, dim))

    def expect(self, inputs: Iterable[Any]) -> None:
        """Sets the inputs of the program."""
        strided = (x for x in inputs if isinstance(x, FakeTensor) and x.layout is torch.strided)
        self._inputs = frozenset(map(storage_key, strided))

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor shows an input's memory, which the caller sees."""
        return tensor.layout is torch.strided and storage_key(tensor) in self._inputs

    def depends(
        self, tensor: Any, result: Any, question: str, is_recorded: bool = True, is_one: bool = False
    ) -> None:
        """Whether `result` shares the memory of `tensor` depends on layout. is_recorded: the program has the operator,
        which views or copies in each call as eager does. is_one: the two are one object in the example, unlike here."""
        if not isinstance(tensor, FakeTensor) or tensor.layout is not torch.strided:
            return
        exact = self._env is not None and tensor._has_symbolic_sizes_strides
        layout = (tuple(tensor.shape), tuple(tensor.stride())) if exact else None
        is_copy = is_recorded and exact and not self.is_input(tensor)
        if is_copy:
            self._copied(tensor, result)
        opened = _Open(question, layout, is_recorded and exact, is_copy, is_one)
        self._kept += (tensor.untyped_storage(), result.untyped_storage())
        keys = {storage_key(tensor), storage_key(result)}
        self._shared.append(keys)
        for key in keys:
            self._open.setdefault(key, []).append(opened)
        if keys & self._told_apart:
            self.matters(result, "changed")

    def may_be_view(self, tensor: Any, result: Any) -> None:
        """An operator has viewed or copied a tensor."""
        self.chooses = True
        if self.is_input(tensor):
            self.depends(tensor, result, "contiguity")
        else:
            self._copied(tensor, result)

    def may_convert(self, tensor: Any, result: Any, options: Mapping[str, Any]) -> None:
        """`Tensor.to`: with a memory format, it returns the tensor itself if that already has the format."""
        if options.get("memory_format") not in (None, torch.preserve_format):
            self.depends(tensor, result, "strides", is_recorded=result is not tensor)

    def _copied(self, tensor: torch.Tensor, result: torch.Tensor) -> None:
        if storage_key(tensor) != storage_key(result):
            self._kept += (tensor.untyped_storage(), result.untyped_storage())
            varies = tensor._has_symbolic_sizes_strides
            layout = (tuple(tensor.shape), tuple(tensor.stride()), tuple(result.shape)) if varies else None
            where = None if self._env is None else self._env.where()
            self.copies.append(Copy(storage_key(tensor), storage_key(result), layout, where))

    def memory_matters(self, operands: Iterable[Any]) -> None:
        """The program goes on otherwise if the memory around these is smaller or larger."""
        if any(isinstance(x, FakeTensor) and self.is_input(x) for x in operands):
            self.ask("offset")
            self.ask("memory")

    def tried(self, func: Any) -> None:
        """An operator is called, and the program goes on if it fails."""
        if func in FAILS_BY_LAYOUT:
            self.ask("strides")

    def returned(self, results: Iterable[torch.Tensor], held: Iterable[Any]) -> None:
        """These tensors are the program's results; `held` are parameters, buffers and constants that it reads.

        Whether a result is a copy is visible only if the caller has another reference to its possible base: an input, a
        tensor of the module, or another result.
        """
        results = [t for t in results if isinstance(t, FakeTensor) and t.layout is torch.strided]
        seen = {storage_key(t) for t in held if isinstance(t, FakeTensor) and t.layout is torch.strided}
        seen |= self._inputs
        for at, result in enumerate(results if self._shared else ()):
            reached = self._may_share(storage_key(result))
            others = {storage_key(t) for i, t in enumerate(results) if i != at}
            if reached & (seen | others):
                self.matters(result, "returned")

    def _may_share(self, key: int) -> set[int]:
        """The memory that is that of a tensor, or another's, as layout decides."""
        return joined({key}, self._shared)

    def matters(self, tensor: Any, use: str) -> None:
        """The tensor is "written", "returned" beside its possible base, "compared" with it by identity, "changed" as an
        object (an attribute), or "watched" by a weak reference."""
        if not issubclass(type(tensor), FakeTensor) or tensor.layout is not torch.strided:
            return  # (isinstance would run the `__class__` of an object of the program)
        if use in ("changed", "watched"):
            self._told_apart.add(storage_key(tensor))
            self._kept.append(tensor.untyped_storage())
        if self._open:
            key = storage_key(tensor)
            opened = self._open.pop(key, [])
            if use == "written" and (copies := [one for one in opened if one.is_copy]):
                self._open[key] = copies  # run/copies_or_views.py decides if it is visible
                opened = [one for one in opened if not one.is_copy]
            for one in opened:
                if one.is_recorded and use == "returned":
                    continue  # the caller gets what eager gives
                if one.is_one:
                    self._restart(Inexact(f"the result of contiguous() is {use}", knows_copies=False))
                self.ask(one.question)
                if self._env is not None and one.layout is not None:  # the kernel's answer was for large sizes
                    sizes, strides = ([self._env.unwrap(n) for n in part] for part in one.layout)
                    question = QUESTIONS["is_contiguous"](sizes, strides)
                    if self._env.hint_of(question) is not None:  # else only run time knows, as in the kernel
                        with self._env.exactly():
                            bool(self._env.wrap(question))


def joined(keys: set[int], groups: Iterable[set[int]]) -> set[int]:
    """All that one of `keys` leads to, from group to group."""
    found, before = set(keys), 0
    while len(found) != before:
        before = len(found)
        found = found.union(*(group for group in groups if group & found))
    return found


class Asked(NamedTuple):
    """A property of the inputs' memory layout.

    question: "contiguity"; "layout", the strides of dimensions of two or more elements; "strides"; "offset"; "memory",
    its size; "conj", "neg", "inference". input: the number of the input, None for each. dim: of the strides, that of
    this dimension; None for all.
    """

    question: str
    input: int | None
    dim: int | None

    def covers(self, other: Asked) -> bool:
        """Whether the inputs that are as this demands are as `other` demands, too."""
        same = self.question == other.question
        return same and self.input in (None, other.input) and self.dim in (None, other.dim)


def strongest(asked: Iterable[Asked]) -> set[Asked]:
    """Without those that another one covers: two runs that demand the same have the same set."""
    found = set(asked)
    return {one for one in found if not any(other is not one and other.covers(one) for other in found)}


class Copy(NamedTuple):
    """`result` is a copy of `tensor` in the example, and may be a view of it for other sizes, or if inputs have another
    memory layout. Both are identified by their memory: the tensors may die.

    layout: sizes and strides of the one, sizes of the other, if they vary. where: the line, if sizes vary."""

    tensor: int
    result: int
    layout: tuple[tuple[Any, ...], ...] | None
    where: Origin | None


class _Open(NamedTuple):
    question: str
    layout: tuple[tuple[Any, ...], tuple[Any, ...]] | None
    """Sizes and strides, if they vary."""
    is_recorded: bool
    is_copy: bool
    is_one: bool
