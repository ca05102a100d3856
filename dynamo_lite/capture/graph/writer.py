"""Nodes, written one after another: the graph of one level, and which node holds a tensor's or a size's value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, OpOverload
from dynamo_lite.capture.context import NodeContext
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes import static_cache, wrapper_subclasses
from dynamo_lite.capture.fakes.fake_tensors import FakeFactory
from dynamo_lite.capture.fakes.wrapper_subclasses import InnerTensors
from dynamo_lite.capture.graph.forward_lines import ForwardLines
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.names import rename_placeholder
from dynamo_lite.capture.graph.size_nodes import SizeNodes
from dynamo_lite.capture.graph.unbacked_bindings import unbacked_bindings
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_fake import in_kernel, make_fake
from dynamo_lite.torch_internals._torch_fx import call_function
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled


class GraphWriter:
    """Writes nodes into `graph`, with the metadata that torch.export gives them.

    `level` is the graph that is written to: the program's, or that of a sub-graph (subgraphs.py).
    """

    def __init__(self, fake_mode: FakeTensorMode, context: NodeContext) -> None:
        self.fake_mode = fake_mode
        env = fake_mode.shape_env
        self.env: TorchShapeEnv | None = env if isinstance(env, TorchShapeEnv) else None  # None: the user's own mode
        self.context = context
        self.level = Level(fx.Graph(), torch.is_grad_enabled(), may_mutate=True)
        if self.env is not None:
            self.level.sizes = SizeNodes(self.env, self.size_node, self.first_size_node, self.node_on_tensor)
        # The grad mode around an autograd.Function while its forward runs; autograd itself runs it without gradients.
        self.around_function: bool | None = None
        self.memory = (
            static_cache.Memory.ALL
        )  # whether operators' results are taken from static_cache.py where it knows them
        self.forward_lines = ForwardLines()
        self.torch_function: Any = None
        self.fakes = FakeFactory(fake_mode)
        self.inner_tensors = InnerTensors()
        self.keep: list[Any] = []  # what identity is taken of must stay alive
        self._function_counts: dict[Any, int] = {}

    @property
    def graph(self) -> fx.Graph:
        """The graph that is written to."""
        return self.level.graph

    @property
    def modules(self) -> dict[str, fx.GraphModule]:
        """The sub-graphs of that graph, by the attribute names that it reads."""
        return self.level.modules

    def placeholder(self, name: str, after: fx.Node | None = None) -> fx.Node:
        if after is None:
            node = self.level.graph.create_node("placeholder", name, (), {}, name=name)
        else:
            with self.level.graph.inserting_after(after):
                node = self.level.graph.create_node("placeholder", name, (), {}, name=name)
        rename_placeholder(node, name)  # fx renames what shadows a builtin ("input"); torch.export does not
        return node

    def call_node(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> fx.Node:
        self.mark_grad_mode()
        return self._call_node(func, args, kwargs, name)

    def head_node(self, func: Any, args: tuple[Any, ...], name: str) -> fx.Node:
        """A call behind the placeholders (and the earlier ones of its kind): outside of all regions and submodules."""
        after = self.level.last_first or next(n for n in reversed(self.level.graph.nodes) if n.op == "placeholder")
        with self.level.graph.inserting_after(after):
            self.level.last_first = node = self._call_node(func, args, {}, name)
        # It precedes every call of a submodule: torch.export.unflatten would make a call of its own for it.
        in_root(node)
        return node

    def _call_node(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> fx.Node:
        node = call_function(self.level.graph, func, args, kwargs, name)
        meta = node.meta
        context = self.context
        trace = context.stack_trace()
        if self.memory is static_cache.Memory.AUTOGRAD:
            trace = self.forward_lines.note(node, trace)
        if trace is not None:
            meta["stack_trace"] = trace
        meta["nn_module_stack"] = context.module_stack()
        source = context.source_fn_stack()
        if source:
            meta["source_fn_stack"] = source
        annotations = context.annotations()
        if annotations:
            meta["custom"] = annotations
        meta["torch_fn"] = context.torch_fn() or self._torch_fn(func)
        return node

    def _torch_fn(self, func: Any) -> tuple[str, str]:
        function = self.torch_function or func
        count = self._function_counts[function] = self._function_counts.get(function, 0) + 1
        name = getattr(function, "__name__", str(function))
        return (f"{name}_{count}", f"{type(function).__name__}.{name}")

    def grad_mode(self) -> bool:
        """The grad mode that a node is under: within an autograd.Function the one around it."""
        return torch.is_grad_enabled() if self.around_function is None else self.around_function

    def mark_grad_mode(self) -> None:
        """A border of a region, if gradients have been switched since the last node: by the program, or in C++."""
        enabled = self.grad_mode()
        if enabled is not self.level.marked_grad:
            self.level.marked_grad = enabled
            self.marker(_set_grad_enabled, (enabled,))

    def marker(self, func: Callable[..., Any], args: tuple[Any, ...]) -> fx.Node:
        """A node that is not an operator: the border of a no_grad or autocast region (regions.py outlines them)."""
        node = self.call_node(func, args, {}, func.__name__.lstrip("_"))
        node.meta["val"] = None
        return node

    def record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        self.bind_result(self.call_node(func, args, kwargs, func._overloadpacket.__name__), out)
        return out

    def bind_result(self, node: fx.Node, out: Any) -> None:
        """Registers `node` as the call that returned `out`: fake tensors, a size, or a constant of the program."""
        if isinstance(out, torch.Tensor):
            self.bind(out, node)
        elif isinstance(out, (tuple, list)):
            self.bind_each(out, node)
        else:
            node.meta["val"] = out
            if isinstance(out, SYMBOLIC_TYPES) and self.level.sizes is not None:
                self.level.sizes.add_value(node, out)
        if self.env is not None and self.env.pending_fresh_unbacked_symbols:
            self.bind_unbacked(node, out)

    def bind(self, tensor: torch.Tensor, node: fx.Node) -> None:
        """Registers `node` as the node with the value of `tensor`, a fake tensor."""
        if type(tensor) is not FakeTensor and wrapper_subclasses.is_wrapper(tensor):
            with self.context.natively():
                self._bind(tensor, node)
                self.inner_tensors.add(tensor, node)
            return
        self._bind(tensor, node)

    def _bind(self, tensor: torch.Tensor, node: fx.Node) -> None:
        snapshot = self.fakes.input_snapshot if node.op == "placeholder" else self.fakes.snapshot
        node.meta["val"], node.meta["tensor_meta"] = snapshot(tensor)
        self.level.nodes[tensor] = node
        if self.memory is static_cache.Memory.AUTOGRAD and not tensor.is_leaf:
            self.keep.append(tensor)  # autograd may need it (torch.autograd.grad)
        if self.level.sizes is not None and self.env is not None and self.env.pending_fresh_unbacked_symbols:
            self.level.sizes.add_tensor(node, tensor)

    def bind_each(self, out: Sequence[Any], node: fx.Node) -> None:
        values = []
        for index, item in enumerate(out):
            if isinstance(item, torch.Tensor):
                element = self.call_node(operator.getitem, (node, index), {}, "getitem")
                self.bind(item, element)
                values.append(element.meta["val"])
            elif isinstance(item, (tuple, list)):
                element = self.call_node(operator.getitem, (node, index), {}, "getitem")
                self.bind_each(item, element)
                values.append(element.meta["val"])
            elif isinstance(item, SYMBOLIC_TYPES) and self.level.sizes is not None:
                element = self.call_node(operator.getitem, (node, index), {}, "getitem")
                element.meta["val"] = item
                self.level.sizes.add_value(element, item)
                values.append(item)
            else:
                values.append(item)
        node.meta["val"] = tuple(values) if isinstance(out, tuple) else values

    def bind_unbacked(self, node: fx.Node, out: Any) -> None:
        """Notes where the symbols that this operator made are in its result (`unbacked_bindings`, as torch does)."""
        assert self.env is not None and self.level.sizes is not None
        pending = self.env.pending_fresh_unbacked_symbols
        bindings = unbacked_bindings(self.env, {*pending}, out)
        pending.clear()
        if bindings:
            node.meta["unbacked_bindings"] = bindings

    def lower(self, arg: Any) -> Any:
        """An argument as fx takes it: tensors as nodes, sizes as nodes (or numbers, where they are constant)."""
        if isinstance(arg, torch.Tensor):
            entry = self.level.nodes.entries.get(id(arg))
            return None if entry is None else entry[1]
        if type(arg) is list or type(arg) is tuple:
            return type(arg)(self.lower(a) for a in arg)
        if isinstance(arg, SYMBOLIC_TYPES):
            return self.lower_symbolic(arg)
        _refuse(arg)
        return arg

    def lower_symbolic(self, value: Any) -> Any:
        """A SymInt, SymFloat or SymBool as an argument: the node that computes it, or its value if it is constant."""
        if self.level.sizes is not None and isinstance(value.node, SymNode):
            return self.level.sizes.of(value)
        constant = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
        if constant is None:
            raise CaptureError(
                "symbolic-size",
                f"the size {value} is a symbol of the FakeTensorMode that the inputs live in",
                "give real or meta tensors, and list in dynamic_shapes which sizes are dynamic",
            )
        return constant

    def size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node:
        """A node that computes a size, here."""
        node = self.call_node(function, args, {}, _size_name(function))
        node.meta["val"] = val
        return node

    def first_size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node:
        """A node that reads a size of an input: behind the placeholders."""
        node = self.head_node(function, args, _size_name(function))
        node.meta["val"] = val
        return node

    def node_on_tensor(self, function: OpOverload, args: tuple[Any, ...], val: Any) -> fx.Node:
        """A node with the number that a pointwise operator gives for some, computed on tensors of one float64. (The
        first of three is a condition, 1 or 0.)"""
        nodes: list[fx.Node] = []
        for arg in args:
            is_condition = len(args) == 3 and not nodes
            options = {"dtype": torch.bool if is_condition else torch.float64, "device": torch.device("cpu")}
            nodes.append(self._on_cpu(_SCALAR, (arg,), options))
        node = self.call_node(_ITEM, (self._on_cpu(function, tuple(nodes), {}),), {}, "item")
        node.meta["val"] = val
        return node

    def _on_cpu(self, function: OpOverload, args: tuple[Any, ...], options: dict[str, Any]) -> fx.Node:
        """A node with a tensor of one number, float64 unless the options say otherwise."""
        node = self.call_node(function, args, options, function.overloadpacket.__name__)
        meta = in_kernel(self.fake_mode, _empty_number, options.get("dtype", torch.float64))
        node.meta["val"] = make_fake(self.fake_mode, meta, torch.device("cpu"))
        return node


def _empty_number(dtype: torch.dtype) -> torch.Tensor:
    return torch.empty((), dtype=dtype, device="meta")


_SCALAR, _ITEM = torch.ops.aten.scalar_tensor.default, torch.ops.aten.item.default


def _size_name(function: Any) -> str:
    name = function.overloadpacket.__name__ + "_int" if isinstance(function, OpOverload) else function.__name__
    return str(name.strip("_"))


def in_root(node: fx.Node) -> None:
    """Assigns `node` to the root module, whichever module was being called."""
    stack = node.meta.get("nn_module_stack", {})
    node.meta["nn_module_stack"] = {key: entry for key, entry in stack.items() if key == "L__self__"}


def _refuse(arg: Any) -> None:
    """Refuses an argument that a program cannot hold."""
    if isinstance(arg, torch.Generator):
        raise CaptureError(
            "generator-argument",
            "an operator is given a torch.Generator, whose state a program cannot carry",
            "leave `generator` out: the program then draws from the default generator",
        )
    if isinstance(arg, torch.ScriptObject) and not arg._type().qualified_name().endswith("._RecordFunction"):
        raise CaptureError(
            "script-object",
            f"an operator is given a {arg._type().qualified_name()}, an object of C++ that a program cannot hold",
            "give the operator tensors, or make the call a custom operator that makes the object itself",
            {"kind": str(arg._type().qualified_name()).removeprefix("__torch__.")},
        )
