"""Guards on the memory layout of the inputs, for a program whose result depends on layout.

Operators take any layout, as in eager. But if the program itself reads it (`x.is_contiguous()`, `x.stride()`) of an
input or of anything computed from one, the result holds for the layout of the example only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import torch

from dynamo_lite.program.shapes.input_dims import paths_of
from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.symbolic_shapes import Symbol, symbols_of, to_python
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


def layout_guards(
    inputs: FlatInputs,
    stand_ins: Sequence[Any],
    asked: Collection[str],
    env: TorchShapeEnv | None,
    sources: Mapping[Symbol, str],
) -> list[str]:
    """Python over `L['name']` that holds for inputs with the memory layout of the example's.

    stand_ins: along `inputs.leaves`, the FakeTensors whose strides are expressions of the sizes.
    asked: "contiguity", "strides", "offset", "memory", "conj", "neg", "inference": the properties read by the program.
    sources: the expression of each symbol in the inputs.
    """
    guards: list[str] = []
    for path, leaf, fake in zip(paths_of(inputs), inputs.leaves, stand_ins) if asked else ():
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor) or fake.layout is not torch.strided:
            continue
        if "strides" in asked or ("contiguity" in asked and not _is_plain(leaf, fake)):
            guards += _strides(path, fake, env, sources)
        elif "contiguity" in asked and fake.dim():
            guards.append(f"{path}.is_contiguous()")
        if ("conj" in asked or "neg" in asked) and fake.is_complex():  # the imaginary part of a conjugate is negated
            guards.append(f"{path}.is_conj() is {leaf.is_conj()}")
        if "inference" in asked:
            guards.append(f"{path}.is_inference() is {leaf.is_inference()}")
        if "neg" in asked and (fake.is_floating_point() or fake.is_complex()):
            guards.append(f"{path}.is_neg() is {leaf.is_neg()}")
        if "offset" in asked and isinstance(fake.storage_offset(), int):
            guards.append(f"{path}.storage_offset() == {fake.storage_offset()}")
        if "memory" in asked and (nbytes := _text(fake.untyped_storage().nbytes(), env, sources)) is not None:
            guards.append(f"{path}.untyped_storage().nbytes() == {nbytes}")
    return guards


def _is_plain(leaf: torch.Tensor, fake: torch.Tensor) -> bool:
    """Whether an input is contiguous, and nothing else: of a batch with one channel, or one pixel, kernels may take
    contiguous strides for channels last."""
    if not all(isinstance(n, int) for n in leaf.shape) or not leaf.is_contiguous():
        return False
    channels, pixels = fake.shape[1:2], fake.shape[2:]
    return fake.dim() not in (4, 5) or not (_may_be_one(channels) or _may_be_one(pixels))


def _may_be_one(sizes: Sequence[Any]) -> bool:
    return all(not isinstance(size, int) or size == 1 for size in sizes)


def _strides(path: str, fake: torch.Tensor, env: TorchShapeEnv | None, sources: Mapping[Symbol, str]) -> Iterator[str]:
    for dim, stride in enumerate(fake.stride()):
        name = f"{path}.stride()[{dim}]"
        text = _text(stride, env, sources)
        if text is not None and text != name:
            yield f"{name} == {text}"


def _text(size: Any, env: TorchShapeEnv | None, sources: Mapping[Symbol, str]) -> str | None:
    if isinstance(size, int):
        return str(size)
    if env is None:
        return None
    node = env.core.simplify(env.unwrap(size))
    names: dict[Any, str] = {s: sources.get(s) or str(getattr(s.source, "name", "")) for s in symbols_of(node)}
    return to_python(node, lambda symbol: names[symbol]) if all(names.values()) else None
