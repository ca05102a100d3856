"""Ways to put an operator's sample to a shape environment: how the inputs are made, and what is done with the operator.

Each is a `Variant`; benchmarks/op_db_symbolic.py runs them. Eager goes the same way with real tensors: that is the
oracle, so a variant says what it does to a tensor (`real`) and with the operator (`perform`) once for both.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.utils._pytree as pytree  # noqa: E402
from torch._decomp import core_aten_decompositions  # noqa: E402
from torch._dynamo.source import ConstantSource  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.fx.experimental.symbolic_shapes import (  # noqa: E402
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode  # noqa: E402
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv  # noqa: E402
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, TensorPolicy  # noqa: E402

OURS, FREE, TORCH, STATIC = "ours", "ours, each size its own symbol", "torch", "plain sizes"
Convert = Callable[[torch.Tensor], Any]


@dataclass
class Sample:
    name: str
    tensors: list[torch.Tensor]
    operator: Callable[[list[Any]], Any]
    """operator(inputs): the operator with `inputs` in the places of `tensors`."""


class NoSymbols(AssertionError):
    """An input came out with plain sizes: the comparison would compare nothing."""


class Variant:
    """The plain way: sizes >= 2 are symbols (equal ones share one), the operator runs once on fake tensors.

    Attributes:
        title: for the report.
        environments: what is compared.
        requires_grad: whether the samples' differentiable inputs require grad.
    """

    title = "as it is"
    environments: tuple[str, ...] = (OURS, FREE, TORCH)
    requires_grad = False
    specialize_zero_one = True

    # -- inputs --------------------------------------------------------------------------------------------------
    def real(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of an input, as eager gets it."""
        return tensor.detach().clone()  # keeps the strides

    def mode(self, which: str) -> FakeTensorMode:
        if which == STATIC:
            return FakeTensorMode(allow_non_fake_inputs=True)
        if which == TORCH:
            env = ShapeEnv(specialize_zero_one=self.specialize_zero_one, duck_shape=self.specialize_zero_one)
            return FakeTensorMode(shape_env=env, allow_non_fake_inputs=True, export=True)
        duck = which == OURS and self.specialize_zero_one
        return fake_mode(TorchShapeEnv(duck_shape=duck, specialize_zero_one=duck), allow_non_fake_inputs=True)

    def context(self, which: str, tensor: torch.Tensor) -> Any:
        return StatelessSymbolicContext([DimDynamic.DUCK] * tensor.dim())

    def to_fake(self, which: str, mode: FakeTensorMode) -> Convert:
        """Real tensor -> fake tensor with symbols. The converter raises NoSymbols if there are none."""
        numbers = itertools.count()

        def convert(tensor: torch.Tensor) -> Any:
            with unset_fake_temporarily():  # a copy made in the mode would be a fake with plain sizes
                copy = self.real(tensor)
            if which == STATIC:
                return mode.from_tensor(copy)
            fake = mode.from_tensor(copy, source=ConstantSource(f"x{next(numbers)}"),
                                    symbolic_context=self.context(which, tensor))
            plain = not any(isinstance(size, torch.SymInt) for size in fake.shape)
            # (a guard may have given a size its number, before the second run)
            if plain and any(size > 1 for size in tensor.shape) and not mode.shape_env.guards:  # type: ignore[union-attr]
                raise NoSymbols(f"{which}: an input of {tuple(tensor.shape)} has no symbols")
            return fake

        return convert

    # -- the operator ----------------------------------------------------------------------------------------------
    def perform(self, sample: Sample, inputs: list[Any]) -> Any:
        """What is run on the inputs, real or fake."""
        return sample.operator(inputs)

    def example(self, mode: FakeTensorMode) -> dict[Any, int]:
        """Values for unbacked symbols (sympy), where the variant knows them."""
        return {}


class Backward(Variant):
    title = "with its gradients through autograd"
    environments = (OURS, TORCH)
    requires_grad = True

    def real(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    def perform(self, sample: Sample, inputs: list[Any]) -> Any:
        result = sample.operator(inputs)
        outputs = [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
        wanted = [x for x in inputs if x.requires_grad]
        if not outputs or not wanted:
            return result
        ones = [torch.ones_like(x) for x in outputs]
        return result, torch.autograd.grad(outputs, wanted, ones, allow_unused=True)


class Strided(Variant):
    title = "on tensors with other strides: the last dimension outermost (channels last), in a larger memory"
    environments = (OURS, FREE, TORCH)

    def real(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < 2 or tensor.is_conj() or tensor.is_neg():
            return tensor.detach().clone()
        order = (0, *range(2, tensor.dim()), 1) if tensor.dim() > 3 else tuple(reversed(range(tensor.dim())))
        sizes = [tensor.shape[d] for d in order]
        memory = tensor.new_empty([sizes[0], *(s + 1 for s in sizes[1:])])
        for d, size in enumerate(sizes):
            memory = memory.narrow(d, memory.shape[d] - size, size)
        back = [order.index(d) for d in range(tensor.dim())]
        return memory.permute(back).copy_(tensor.detach()).data


class Unbacked(Variant):
    title = "with unbacked sizes"
    environments = (OURS, TORCH)

    def context(self, which: str, tensor: torch.Tensor) -> Any:
        return StatelessSymbolicContext([DimDynamic.UNBACKED if s > 1 else DimDynamic.STATIC for s in tensor.shape])

    def to_fake(self, which: str, mode: FakeTensorMode) -> Convert:
        inner = super().to_fake(which, mode)

        def convert(tensor: torch.Tensor) -> Any:
            fake = inner(tensor)
            values: dict[Any, int] = vars(mode).setdefault("values_of_inputs", {})
            for size, value in zip(fake.shape, tensor.shape):
                if isinstance(size, torch.SymInt) and size.node._expr.is_Symbol:
                    values[size.node._expr] = value
            return fake

        return convert

    def example(self, mode: FakeTensorMode) -> dict[Any, int]:
        return vars(mode).get("values_of_inputs", {})


class ZeroOne(Variant):
    title = "with a symbol for every size, 0 and 1 too"
    environments = (OURS, TORCH)
    specialize_zero_one = False

    def context(self, which: str, tensor: torch.Tensor) -> Any:
        if which == TORCH:
            return StatelessSymbolicContext([DimDynamic.DYNAMIC] * tensor.dim())
        return TensorPolicy([Fresh(lo=0)] * tensor.dim())


class Decomposed(Variant):
    """make_fx with torch's core ATen decompositions; the graph runs on fake and on real inputs."""

    environments = (OURS, TORCH)

    def __init__(self, pre_dispatch: bool) -> None:
        self.pre_dispatch = pre_dispatch
        self.title = f"decomposed to core ATen by make_fx, pre_dispatch={pre_dispatch}; the graph on real tensors"

    def perform(self, sample: Sample, inputs: list[Any]) -> Any:
        if not any(isinstance(x, FakeTensor) for x in inputs):
            return sample.operator(inputs)
        # Decomposing in make_fx, as `run_decompositions` does; what it traced must run at the example's sizes.
        table: Any = core_aten_decompositions()
        symbolic = inputs[0].fake_mode.shape_env is not None
        graph = make_fx(lambda *made: sample.operator(list(made)), decomposition_table=table,
                        tracing_mode="symbolic" if symbolic else "fake", pre_dispatch=self.pre_dispatch)(*inputs)
        with unset_fake_temporarily():
            return graph(*map(self.real, sample.tensors))


VARIANTS: dict[str, Variant] = {
    "plain": Variant(),
    "strided": Strided(),
    "zero-one": ZeroOne(),
    "unbacked": Unbacked(),
    "backward": Backward(),
    "decomposed": Decomposed(pre_dispatch=False),
    "decomposed-pre-dispatch": Decomposed(pre_dispatch=True),
}
