"""A small quantiser as PT2E's are: annotate by metadata, calibrate with an interpreter, convert.

It knows modules by what the program's nodes say of them (source_fn_stack through torch's own matcher, nn_module_stack,
torch_fn), never by the model. Activations get fake quantisation in 8 bits, weights become int8 buffers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

aten = torch.ops.aten


class Annotated(NamedTuple):
    """A node to quantise: the module that it is of, by its name, and what feeds it."""

    node: fx.Node
    fqn: str
    activation: fx.Node
    weight: str


def annotate(module: fx.GraphModule, kinds: tuple[type[nn.Module], ...]) -> list[Annotated]:
    """The operators that belong to modules of `kinds` and read a registered weight."""
    found = []
    for partitions in get_source_partitions(module.graph, list(kinds)).values():
        for partition in partitions:
            for node in partition.nodes:
                if node.target not in (aten.linear.default, aten.conv2d.default):
                    continue
                (fqn, cls) = [*node.meta["nn_module_stack"].values()][-1]
                assert node.meta["torch_fn"][1].endswith(str(node.target.overloadpacket.__name__)), node.meta[
                    "torch_fn"
                ]
                activation, weight = node.args[:2]
                assert isinstance(activation, fx.Node) and isinstance(weight, fx.Node) and weight.op == "get_attr"
                assert issubclass(_type(cls), kinds)
                found.append(Annotated(node, fqn, activation, str(weight.target)))
    return found


def _type(cls: Any) -> type:
    module, _, name = cls.rpartition(".") if isinstance(cls, str) else (None, None, None)
    return cls if module is None else getattr(__import__(module, fromlist=[name]), name)


class Calibration(fx.Interpreter):
    """Runs the program and keeps the range of each activation that will be quantised."""

    def __init__(self, module: fx.GraphModule, annotated: list[Annotated]) -> None:
        super().__init__(module)
        self._watched = {a.activation for a in annotated}
        self.ranges: dict[fx.Node, tuple[float, float]] = {}

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n in self._watched:
            self.ranges[n] = float(value.min()), float(value.max())
        return value


def scale_of(low: float, high: float) -> tuple[float, int]:
    """Scale and zero point of 8 bits, unsigned, that hold the range and zero."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = max((high - low) / 255, 1e-12)
    return scale, max(0, min(255, round(-low / scale)))


def int8(weight: Tensor) -> tuple[Tensor, float]:
    """A weight in 8 bits, symmetric, and its scale."""
    scale = max(float(weight.detach().abs().max()) / 127, 1e-12)
    return (weight.detach() / scale).round().clamp(-127, 127).to(torch.int8), scale


def convert(module: fx.GraphModule, annotated: list[Annotated], ranges: dict[fx.Node, tuple[float, float]]) -> None:
    """Rewrites `module` in place."""
    graph = module.graph
    for index, (node, _, activation, weight) in enumerate(annotated):
        values, scale = int8(module.get_parameter(weight))
        module.register_buffer(f"int8_{index}", values)
        with graph.inserting_before(node):
            given = (activation, *scale_of(*ranges[activation]), 0, 255)
            fake = graph.call_function(aten.fake_quantize_per_tensor_affine.default, given)
            stored = graph.get_attr(f"int8_{index}")
            real = graph.call_function(aten.to.dtype, (stored, torch.float32))
            restored = graph.call_function(aten.mul.Tensor, (real, scale))
        node.args = (fake, restored, *node.args[2:])
    graph.eliminate_dead_code()
    graph.lint()
    module.recompile()


class Reference:
    """The oracle: the eager model with the same done to its modules by hand, on the ranges that it sees itself."""

    def __init__(self, module: nn.Module, kinds: tuple[type[nn.Module], ...]) -> None:
        self.called: set[str] = set()
        self._ranges: dict[nn.Module, tuple[float, float]] = {}
        self._module = module
        self._layers = [(fqn, layer) for fqn, layer in module.named_modules() if type(layer) in kinds]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Calibrates, and then runs in 8 bits."""
        with torch.no_grad():
            self._hooked(self._calibrate, args, kwargs)
            for _, layer in self._layers:
                values, scale = int8(layer.weight)
                layer.weight.copy_(values.to(torch.float32) * scale)
            return self._hooked(self._quantise, args, kwargs)

    def _hooked(self, hook: Any, args: Any, kwargs: Any) -> Any:
        handles = [layer.register_forward_pre_hook(hook) for _, layer in self._layers]
        try:
            return self._module(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()

    def _calibrate(self, layer: nn.Module, args: tuple[Tensor, ...]) -> None:
        self._ranges[layer] = float(args[0].min()), float(args[0].max())
        self.called |= {fqn for fqn, known in self._layers if known is layer}

    def _quantise(self, layer: nn.Module, args: tuple[Tensor, ...]) -> Any:
        return (torch.fake_quantize_per_tensor_affine(args[0], *scale_of(*self._ranges[layer]), 0, 255),)
