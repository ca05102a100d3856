"""The recorder as the parts that it is built from see it: a protocol, so that none of them imports recorder.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import fx

from dynamo_lite.capture.context import NodeContext
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.lifting import Lifted
from dynamo_lite.capture.kernels.layout_questions import LayoutQuestions
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


class Recording(Protocol):
    """recorder.Recorder. `level` is the graph that is being written."""

    level: Level
    env: TorchShapeEnv | None
    context: NodeContext
    keep: list[Any]
    torch_function: Any

    def bind(self, tensor: torch.Tensor, node: fx.Node) -> None: ...
    def bind_result(self, node: fx.Node, out: Any) -> None: ...
    def call_node(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> fx.Node: ...
    def first_size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node: ...
    def lift(self, tensor: torch.Tensor) -> torch.Tensor: ...
    def lower(self, arg: Any) -> Any: ...
    def lower_symbolic(self, value: Any) -> Any: ...
    def grad_mode(self) -> bool: ...
    def mark_grad_mode(self) -> None: ...
    def marker(self, func: Callable[..., Any], args: tuple[Any, ...]) -> fx.Node: ...
    def node_of(self, tensor: torch.Tensor) -> fx.Node: ...
    def record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any: ...
    def size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node: ...


class OperatorRecording(Recording, Protocol):
    """recorder.Recorder, with what runs operators."""

    fake_mode: Any
    layout: LayoutQuestions
    lowering: int
    has_dual_level: bool
    memory: Memory
    running: bool
    autocast: Any  # kernels.autocast_regions.AutocastRegions
    constant_values: Any  # constant_values.ConstantValues

    def deep_copy(self, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor: ...
    def eagerly(self, fn: Callable[..., Any], *args: Any) -> Any: ...
    def is_input(self, tensor: torch.Tensor) -> bool: ...
    def guarded(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
    def operator(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any: ...
    def original(self, result: Any) -> Any: ...
    def stand_in(self, arg: Any) -> Any: ...


class RecordedGraph(Protocol):
    """The argument of alias_analysis.AliasAnalysis: a recording, or one of its sub-graphs."""

    @property
    def graph(self) -> fx.Graph: ...
    @property
    def modules(self) -> Mapping[str, fx.GraphModule]: ...
    @property
    def lifted(self) -> Sequence[Lifted]: ...


class InputRecording(Recording, Protocol):
    """graph_inputs.InputLifter: a recording that keeps its outer tensors."""

    lifted: list[Lifted]
    levels: Any

    def head_node(self, func: Any, args: tuple[Any, ...], name: str) -> fx.Node: ...


class EarlierRecording(Protocol):
    """The digests of the recording before this one (fingerprint.Fingerprint), from whose state this one starts."""

    updates: dict[str, torch.Tensor]

    @property
    def recorder(self) -> Any: ...
    def origin(self, tensor: torch.Tensor) -> Any: ...
