"""Guards on the memory layout of the inputs, for a program whose result depends on layout.

Operators take any layout, as in eager. But if the program itself reads it (`x.is_contiguous()`, `x.stride()`) of an
input or of anything computed from one, the result holds for the layout of the example only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.kernels.layout_questions import Asked
from dynamo_lite.program.shapes.input_dims import paths_of
from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.symbolic_shapes import Symbol, symbols_of, to_python
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


def layout_guards(
    inputs: FlatInputs,
    fakes: Sequence[Any],
    asked: Collection[Asked],
    env: TorchShapeEnv | None,
    sources: Mapping[Symbol, str],
) -> list[str]:
    """Python over `L['name']` that holds for inputs with the memory layout of the example's.

    stand_ins: along `inputs.leaves`, the FakeTensors whose strides are expressions of the sizes.
    asked: the properties that the program depends on; the number of an input is its place in `inputs.leaves`.
    sources: the expression of each symbol in the inputs.
    """
    guards: list[str] = []
    for number, (path, leaf, fake) in enumerate(zip(paths_of(inputs), inputs.leaves, fakes) if asked else ()):
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor) or fake.layout is not torch.strided:
            continue
        about = {(one.question, one.dim) for one in asked if one.input in (None, number)}
        questions = {question for question, _ in about}
        guards += _layout(path, leaf, fake, about, _Sizes(env, sources))
        if questions & {"conj", "neg"} and fake.is_complex():  # the imaginary part of a conjugate is negated
            guards.append(f"{path}.is_conj() is {leaf.is_conj()}")
        if "inference" in questions:
            guards.append(f"{path}.is_inference() is {leaf.is_inference()}")
        if "neg" in questions and (fake.is_floating_point() or fake.is_complex()):
            guards.append(f"{path}.is_neg() is {leaf.is_neg()}")
        if "offset" in questions and isinstance(fake.storage_offset(), int):
            guards.append(f"{path}.storage_offset() == {fake.storage_offset()}")
        if "memory" in questions and (nbytes := _Sizes(env, sources).text(fake.untyped_storage().nbytes())) is not None:
            guards.append(f"{path}.untyped_storage().nbytes() == {nbytes}")
    return guards


def _layout(
    path: str, leaf: torch.Tensor, fake: torch.Tensor, about: Collection[tuple[str, int | None]], sizes: _Sizes
) -> Iterator[str]:
    """The conditions on the strides of one input: as they are, or but for dimensions of one element, whose strides no
    operator reads unless it looks for the order of channels."""
    questions = {question for question, _ in about}
    is_certain = not _may_look_channels_last(fake)
    is_plain = all(isinstance(n, int) for n in leaf.shape) and leaf.is_contiguous() and is_certain
    read = {dim for question, dim in about if question == "strides"}
    whole = "layout" in questions or ("contiguity" in questions and not is_plain)
    if None in read or (whole and not is_certain):
        yield from _strides(path, leaf, fake, range(fake.dim()), sizes)
        return
    yield from _strides(path, leaf, fake, sorted(dim for dim in read if dim is not None), sizes)
    if whole:
        yield from _strides(path, leaf, fake, range(fake.dim()), sizes, of_elements=True)
    elif "contiguity" in questions and fake.dim():
        yield f"{path}.is_contiguous()"


def _may_look_channels_last(fake: torch.Tensor) -> bool:
    """Whether kernels may take the strides for channels last, or not: of a batch with one channel, or one pixel."""
    return fake.dim() in (4, 5) and (_may_be_one(fake.shape[1:2]) or _may_be_one(fake.shape[2:]))


def _may_be_one(sizes: Sequence[Any]) -> bool:
    return all(not isinstance(size, int) or size == 1 for size in sizes)


def _strides(
    path: str, leaf: torch.Tensor, fake: torch.Tensor, dims: Iterable[int], sizes: _Sizes, of_elements: bool = False
) -> Iterator[str]:
    """of_elements: of dimensions of two or more elements only, and of tensors that have elements."""
    may_be_empty = of_elements and any(sizes.may_be(size, 0) for size in fake.shape)
    for dim in dims:
        name = f"{path}.stride()[{dim}]"
        text = sizes.text(fake.stride()[dim])
        if text is None or (of_elements and type(fake.shape[dim]) is int and fake.shape[dim] == 1):
            continue
        relation = f"{name} == {text}" if text != name else f"{name} >= {_extent(path, leaf, dim)}"
        unless = [f"({path}.numel() == 0)"] if may_be_empty else []
        unless += [f"({path}.size()[{dim}] == 1)"] if of_elements and sizes.may_be(fake.shape[dim], 1) else []
        yield " or ".join([*unless, f"({relation})" if unless else relation])


def _extent(path: str, leaf: torch.Tensor, dim: int) -> str:
    """How many elements the next dimension further in has, with its gaps: a stride that varies is at least that, if
    nothing overlaps in the example. The order of the strides decides the layout of results."""
    strides = leaf.stride()
    inner = max((n for n in range(leaf.dim()) if 0 < strides[n] < strides[dim]), key=strides.__getitem__, default=-1)
    if inner < 0 or leaf.shape[inner] * strides[inner] > strides[dim]:
        return "1"
    return f"{path}.size()[{inner}] * {path}.stride()[{inner}]"


@dataclass(frozen=True)
class _Sizes:
    """What is known of sizes. sources: the expression of each symbol in the inputs."""

    env: TorchShapeEnv | None
    sources: Mapping[Symbol, str]

    def may_be(self, size: Any, number: int) -> bool:
        """Whether a size is this number in some call."""
        if isinstance(size, int):
            return size == number
        answer = size == number
        if isinstance(answer, bool) or self.env is None:
            return bool(answer)
        return self.env.decide_node(answer.node) is not False

    def text(self, size: Any) -> str | None:
        """A size as an expression over the inputs; None if there is none."""
        if isinstance(size, int):
            return str(size)
        if self.env is None:
            return None
        node = self.env.core.simplify(self.env.unwrap(size))
        sources = self.sources
        names: dict[Any, str] = {s: sources.get(s) or str(getattr(s.source, "name", "")) for s in symbols_of(node)}
        return to_python(node, lambda symbol: names[symbol]) if all(names.values()) else None
