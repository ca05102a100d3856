"""The recorder: one pass over a program, each ATen operator becomes one node of an fx.Graph.

    recorder = Recorder(root_module, input_names=["x"], context=context)
    fakes = recorder.bind_inputs([x])
    with recorder:
        result = run_the_program(*fakes)
    # recorder.graph, recorder.lifted, recorder.node_of(tensor)

Operators run on FakeTensors. The program's real tensors (parameters, buffers, globals) stay where they are on the heap
and are swapped for their stand-ins at the operator boundary.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any

import torch
from torch import fx, nn

from dynamo_lite.capture import collectives, composites, eager_errors, memo, subclasses
from dynamo_lite.capture._torch import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    disable_autocast_cache,
    enable_python_dispatcher,
    fast_detach,
)
from dynamo_lite.capture.carried import constant_history, copy_history
from dynamo_lite.capture.context import NoContext, NodeContext
from dynamo_lite.capture.errors import CaptureError, UnknownTensor
from dynamo_lite.capture.failures import internal, missing_data
from dynamo_lite.capture.fakes import symbolic_mode
from dynamo_lite.capture.levels import Levels
from dynamo_lite.capture.lifting import Lifted, LiftedKind, constant_attributes, registered_state
from dynamo_lite.capture.modes import FunctionMode, OperatorMode, admit_higher_order_operators
from dynamo_lite.capture.names import lifted_names
from dynamo_lite.capture.size_nodes import SizeNodes
from dynamo_lite.capture.stand_ins import StandIns, storage_key
from dynamo_lite.capture.symbolic_memo import SymbolicMemory
from dynamo_lite.capture.tensor_map import TensorMap
from dynamo_lite.capture.unbacked import unbacked_bindings
from dynamo_lite.errors import InvalidArguments
from symbolic_shapes.torch_env import TorchShapeEnv
from symbolic_shapes.torch_inputs import TensorPolicy, create_symbolic_tensor
from symbolic_shapes.torch_node import SymNode

_NUMBERS = (bool, int, float, complex, type(None))
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Recorder:
    """Records the operators of one run into `graph`. Use it once, as a context manager around the run.

    Args:
        root: the module whose registered tensors become p_/b_ placeholders, used or not; None for a function.
        input_names: the placeholder names of the flat inputs, in order (`bind_inputs` takes their values).
        fake_mode: the FakeTensorMode to run under; the one that the inputs or the state live in, if they are fake.
        context: answers for the metadata of nodes.
    """

    def __init__(
        self,
        root: nn.Module | None = None,
        input_names: Sequence[str] = (),
        *,
        fake_mode: FakeTensorMode | None = None,
        context: NodeContext | None = None,
    ) -> None:
        self.fake_mode = fake_mode or symbolic_mode()
        env = self.fake_mode.shape_env
        self.env = env if isinstance(env, TorchShapeEnv) else None  # None: the user's own mode
        self.context: NodeContext = context or NoContext(type(root) if root is not None else None)
        self.graph = fx.Graph()
        self.sizes: SizeNodes | None = (
            None if self.env is None else SizeNodes(self.env, self._size_node, self._first_size_node)
        )
        self._last_first: fx.Node | None = None  # the last node of the graph's head: placeholders, sizes of inputs
        self.lifted: list[Lifted] = []
        self.input_nodes: list[fx.Node] = []
        self.grad_enabled = torch.is_grad_enabled()
        self.layout_asked: set[str] = set()
        """What the program has asked about the memory layout of tensors: "contiguity", "strides", "offset"."""
        self.memory = memo.Memory.ALL  # whether operators' results are taken from memo.py where it knows them
        self.torch_function: Any = None
        self.autocast_nodes: list[fx.Node] = []
        self.modules: dict[str, fx.GraphModule] = {}  # the sub-graphs, by the attribute names that the graph reads
        self.marked_grad = self.grad_enabled  # the grad mode that the last node is under
        self.levels = Levels(self)
        # The grad mode around an autograd.Function while its forward runs; autograd itself runs it without gradients.
        self.around_function: bool | None = None
        self.lowering = 0  # how deep in functorch transforms (transforms.py), whose keys memo.py does not know
        self.subclasses: set[type] = set()
        """Classes that tensors of the program have, and their stand-ins have not."""
        self.running = False  # whether an operator runs on stand-ins now
        self._root = root
        self._nodes = TensorMap()
        self._stand_ins = StandIns(self.fake_mode)
        self._symbolic_memory = None if self.env is None else SymbolicMemory(self.fake_mode, self.env)
        self._lifted_by_id: dict[int, Lifted] = {}
        self._constant_fqns: dict[int, str] | None = None
        self._constant_storages: dict[int, Lifted] = {}
        self._outside: dict[int, int | None] = {}  # id of a stand-in for what comes from outside: its number as input
        self.earlier: Recorder | None = None  # the recording that ran before this one, from the state before
        self._carried: dict[int, torch.Tensor] = {}  # id of a tensor that `earlier` left behind: its stand-in here
        self._carried_nodes: dict[fx.Node, fx.Node] = {}
        self._raised: Exception | None = None
        self._function_counts: dict[Any, int] = {}
        self._keep: list[Any] = []  # what identity is taken of must stay alive
        self._stack = ExitStack()
        self._used_names = set(input_names)
        self._input_names = list(input_names)
        self._add_state()

    # --- inputs ---------------------------------------------------------------------------------------------------

    def _add_state(self) -> None:
        state = list(registered_state(self._root))
        self._stand_ins.expect(entry.tensor for entry in state)
        prefixes = [("p_" if s.kind is LiftedKind.PARAMETER else "b_", s.fqn) for s in state]
        for entry, name in zip(state, lifted_names(prefixes, self._used_names)):
            self._lift(entry.tensor, entry.kind, entry.fqn, name, entry.persistent)

    def bind_inputs(self, values: Sequence[Any], policies: Sequence[Any] | None = None) -> list[Any]:
        """Adds a placeholder per flat input. Returns what the program gets: a fresh FakeTensor for a tensor.

        policies: which sizes of each value are symbols: a `TensorPolicy`, a `DimPolicy` for an int, None for none.

        The same tensor given twice becomes two inputs whose stand-ins share memory. A value that is no tensor is a
        constant of the program and passes through. values: as many as `input_names`.
        """
        if len(values) != len(self._input_names):
            raise ValueError(f"{len(self._input_names)} input names, but {len(values)} values")
        results: list[Any] = []
        for name, value, policy in zip(self._input_names, values, policies or [None] * len(values)):
            node = self._placeholder(name)
            self.input_nodes.append(node)
            if isinstance(value, torch.Tensor):
                value = self._stand_in_of_input(name, value, policy)
                self._bind(value, node)
                self._outside[id(value)] = len(results)
                self._keep.append(value)
            elif policy is not None:
                value = node.meta["val"] = self._symbolic_number(value, policy, name)
                if isinstance(value, _SYMBOLIC):
                    self.sizes.add_value(node, value)  # type: ignore[union-attr]
            else:
                node.meta["val"] = value
            results.append(value)
        self._last_first = self.input_nodes[-1] if self.input_nodes else None
        for node, value in zip(self.input_nodes, results):
            if isinstance(value, torch.Tensor) and value._has_symbolic_sizes_strides:
                self.sizes.add_tensor(node, value, first=True)  # type: ignore[union-attr]
        return results

    def _symbolic_number(self, value: int, policy: Any, name: str) -> Any:
        assert self.env is not None
        return self.env.wrap(self.env.input_size(value, policy, name))

    def _stand_in_of_input(self, name: str, tensor: torch.Tensor, policy: TensorPolicy | None) -> torch.Tensor:
        complaint = subclasses.complaint(type(tensor), is_input=True)
        if complaint is not None:
            raise InvalidArguments(f"the input {name} is {complaint}")
        self._note_class(tensor)
        try:
            return _plain(self._fake_input(tensor, policy), f"the input {name}")
        except RuntimeError as error:  # a quantized or a nested tensor
            reason = str(error).partition("\n")[0]
            what = f"the input {name} is a tensor that FakeTensors cannot stand for: {reason}"
            raise InvalidArguments(what) from error

    def _fake_input(self, tensor: torch.Tensor, policy: TensorPolicy | None = None) -> torch.Tensor:
        # An alias of its own: the converter answers the same fake for the same tensor, and an input that is also
        # a parameter, or given twice, has to stay distinguishable.
        plain = subclasses.as_plain(tensor)
        with torch.no_grad():
            alias = plain.detach() if not isinstance(tensor, FakeTensor) else fast_detach(tensor.fake_mode, tensor)
        alias.requires_grad_(tensor.requires_grad)
        if isinstance(alias, FakeTensor):
            return alias
        self._keep.append(alias)
        if policy is not None:
            return create_symbolic_tensor(self.fake_mode, alias, policy.sizes, policy.source)
        return self.fake_mode.from_tensor(alias, static_shapes=True)

    def _placeholder(self, name: str, after: fx.Node | None = None) -> fx.Node:
        if after is None:
            node = self.graph.create_node("placeholder", name, (), {}, name=name)
        else:
            with self.graph.inserting_after(after):
                node = self.graph.create_node("placeholder", name, (), {}, name=name)
        node.name = node.target = name  # fx renames what shadows a builtin ("input"); torch.export does not
        return node

    # --- lifting --------------------------------------------------------------------------------------------------

    def _lift(
        self, tensor: torch.Tensor, kind: LiftedKind, fqn: str, name: str, persistent: bool | None = None
    ) -> Lifted:
        self._check_class(tensor, kind, fqn)
        fake = self._stand_ins.of(tensor)
        if not isinstance(fake, FakeTensor):
            self._no_stand_in(fake, kind, fqn)
        with self.levels.outermost():
            node = self._placeholder(name, after=self.lifted[-1].node if self.lifted else self.graph._root)
            lifted = Lifted(kind, fqn, tensor, fake, node, persistent)
            self.lifted.append(lifted)
            self._lifted_by_id[id(tensor)] = lifted
            self._outside[id(fake)] = None
            self._bind(fake, node)
        return lifted

    def _no_stand_in(self, fake: torch.Tensor, kind: LiftedKind, fqn: str) -> None:
        """Refuses a tensor subclass that wraps other tensors (a DTensor)."""
        if kind is not LiftedKind.CONSTANT:
            raise InvalidArguments(_wrapper(f"{fqn} of the module", fake))
        name = type(fake).__qualname__
        raise CaptureError("tensor-subclass", f"a {name} from outside", "use plain tensors in forward", {"name": name})

    def _lift_constant(self, tensor: torch.Tensor) -> Lifted:
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise CaptureError(
                "opaque-transform",
                "an operator runs on a tensor inside of torch.vmap, torch.func.grad or another transform",
                "write the batched operators out, or call the transform outside of the exported function",
                {"function": "torch.func"},
            )
        if self._constant_fqns is None:
            self._constant_fqns = constant_attributes(self._root)
        fqn = self._constant_fqns.get(id(tensor))
        if isinstance(tensor, FakeTensor) and (fqn is None or tensor.fake_mode is not self.fake_mode):
            foreign = tensor.fake_mode is not self.fake_mode
            raise UnknownTensor(
                "foreign-tensor" if foreign else "unknown-tensor",
                f"a FakeTensor of shape {list(tensor.shape)} and dtype {tensor.dtype} that this recording did not make",
                "do not keep tensors of one call for the next",
            )
        if tensor.requires_grad and tensor.is_leaf and not isinstance(tensor, FakeTensor):
            fqn = self._fresh_fqn("lifted_parameter")
            (name,) = lifted_names([("p_", fqn)], self._used_names)
            return self._lift(tensor, LiftedKind.PARAMETER, fqn, name)
        if fqn is None:
            fqn = self._fresh_fqn("lifted_tensor")
        (name,) = lifted_names([("c_", fqn)], self._used_names)
        lifted = self._lift(tensor, LiftedKind.CONSTANT, fqn, name)
        self._constant_storages[storage_key(lifted.fake)] = lifted
        return lifted

    def protect(self, tensor: torch.Tensor) -> None:
        """Refuse changes of `tensor`, a constant on memory that is not a tensor's (torch.from_numpy)."""
        node = self._nodes.get(self.lift(tensor))
        while node is not None and node.all_input_nodes:
            node = node.all_input_nodes[0]
        lifted = next((entry for entry in self.lifted if entry.node is node), None)
        if lifted is not None:
            self._constant_storages[storage_key(self.lift(tensor))] = lifted

    def _check_class(self, tensor: torch.Tensor, kind: LiftedKind, fqn: str) -> None:
        """Refuses a tensor of a subclass that a stand-in does not do for."""
        complaint = subclasses.complaint(type(tensor), is_input=False)
        if complaint is not None and kind is not LiftedKind.CONSTANT:
            raise InvalidArguments(f"the {kind.value} {fqn} is {complaint}")
        if complaint is not None:
            name = type(tensor).__qualname__
            raise CaptureError("tensor-subclass", f"{fqn} is {complaint}", "use plain tensors", {"name": name})
        self._note_class(tensor)

    def _note_class(self, tensor: torch.Tensor) -> None:
        """Remember a subclass of torch.Tensor whose operators give tensors of it: stand-ins do not show that."""
        if subclasses.passes_on(type(tensor)):
            self.subclasses.add(type(tensor))

    def _fresh_fqn(self, base: str) -> str:
        taken = {lifted.fqn for lifted in self.lifted}
        return next(name for n in count() if (name := f"{base}_{n}") not in taken)

    def lift(self, tensor: torch.Tensor) -> torch.Tensor:
        """The FakeTensor that stands for `tensor`; a real tensor not seen before becomes a constant input.

        One that learns (a parameter of a module that is no submodule, say) becomes a parameter of the program.

        Raises UnknownTensor for a FakeTensor that nothing recorded has made.
        """
        if tensor in self._nodes:
            return tensor
        if self.levels:
            return self.levels.capture(tensor)
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is self.fake_mode and not tensor.is_leaf:
            twin = self._nodes.twin(tensor)
            if twin is not None:  # autograd's own copy of a result that it saved for the backward
                self._nodes[tensor] = twin
                return tensor
        carried = self._carried.get(id(tensor))
        if carried is None and self.earlier is not None and tensor in self.earlier._nodes:
            carried = self._carry(tensor, self.earlier)
        if carried is not None:
            return carried
        lifted = self._lifted_by_id.get(id(tensor))
        if lifted is None:
            lifted = self._lift_constant(tensor)
        return lifted.fake

    def _carry(self, tensor: torch.Tensor, earlier: Recorder) -> torch.Tensor | None:
        """The stand-in for a tensor that the earlier recording computed from constants alone (carried.py)."""
        constants = {lifted.node: lifted for lifted in earlier.lifted if lifted.kind is LiftedKind.CONSTANT}
        node = earlier._nodes.get(tensor)
        history = None if node is None else constant_history(node, set(constants))
        if history is None or not isinstance(tensor, FakeTensor):
            return None
        copied = copy_history(history, self.graph, self._carried_nodes, lambda n: self.node_of(constants[n].tensor))
        fake = self._stand_ins.like(tensor)
        self._carried[id(tensor)] = fake
        self._keep += (tensor, fake)
        self._bind(fake, copied)
        return fake

    def node_of(self, tensor: torch.Tensor) -> fx.Node:
        """The node that holds `tensor`'s value now (after an in-place operator: that operator's node)."""
        node = self._nodes.get(self.lift(tensor))
        assert node is not None  # lift has just seen to it
        return node

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether this very FakeTensor stands for an input, a parameter, a buffer or a constant from outside."""
        return id(tensor) in self._outside

    def input_number(self, tensor: torch.Tensor) -> int | None:
        """Which flat input this very FakeTensor stands for; None for any other tensor."""
        return self._outside.get(id(tensor))

    def alias(self, new: torch.Tensor, of: torch.Tensor) -> None:
        """Says that `new`, made without dispatching, is the same tensor as `of` (shape, memory and all)."""
        self._nodes[new] = self.node_of(of)

    def deep_copy(self, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
        """`copy.deepcopy(tensor)`: a clone that is a leaf."""
        if not tensor.is_leaf:
            self._raised = RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"
            )
            raise self._raised
        if id(tensor) not in memo:
            memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
        return memo[id(tensor)]

    def assign_data(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        """`tensor.data = value` for a tensor that the program made itself."""
        if self._nodes.get(tensor) is None or self.is_input(tensor):
            raise CaptureError(
                "tensor-data-assigned",
                "the program assigns to `.data` of a tensor that it did not make itself",
                "change the tensor in place (`tensor.copy_(value)`), or return the new value",
                {"name": "an input, a parameter, a buffer or a constant"},
            )
        detached = value.detach()
        self._eagerly(setattr, tensor, "data", self.lift(detached))
        self._nodes[tensor] = self.node_of(detached)

    # --- operators ------------------------------------------------------------------------------------------------

    def operator(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs `func` on stand-ins and records it. What the operator raises passes through, and leaves no node."""
        if func is torch.ops.aten.lift_fresh.default:
            return self._lift_fresh(args[0])
        fake_args = tuple([self._fake(a) for a in args])
        fake_kwargs = {k: self._fake(v) for k, v in kwargs.items()}
        collectives.check(func, fake_args)
        # Before the run: an in-place operator rebinds its arguments.
        node_args = tuple([self._lower(a) for a in fake_args])
        node_kwargs = {k: self._lower(v) for k, v in fake_kwargs.items()}
        if self._constant_storages and func._schema.is_mutable:
            self._check_mutation(func, fake_args, fake_kwargs)
        remembers = self.memory in _REMEMBERS and not self.lowering
        if func._schema.is_mutable and self.levels:
            self._check_operands(func, fake_args, fake_kwargs)
        if func._schema.is_mutable and remembers:
            memo.check_mutation(func, fake_args, fake_kwargs)
        out, remember = self._recall(func, fake_args, fake_kwargs) if remembers else (memo.MISS, None)
        if out is memo.MISS:
            try:
                out = self._run(func, fake_args, fake_kwargs)
            except Exception as error:
                self._operator_failed(func, error)
                eager = eager_errors.of_eager(func, fake_args, fake_kwargs, error)
                if eager is not None:
                    self._raised = eager
                    raise eager from None
                raise
            if remember is not None:
                remember(out)
        if func in _NOT_RECORDED or (isinstance(out, _NUMBERS) and func._schema.returns):
            return out  # a question with a plain answer: .item() of a constant, is_same_size, ...
        if func in _METADATA_ASSERTED:
            self._assert_metadata(fake_args[0], node_args[0])
        return self._record(func, node_args, node_kwargs, out)

    def _recall(
        self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Any, Callable[[Any], None] | None]:
        """(what this call gave before or MISS, what to do with its result if it is a MISS)."""
        key = memo.key_of(func, args, kwargs)
        if key is not None:
            out = memo.recall(key, self.fake_mode, args, kwargs, self.memory)
            return out, lambda out: memo.remember(key, args, kwargs, out)
        symbolic, env = self._symbolic_memory, self.env
        if symbolic is None or env is None:
            return memo.MISS, None
        key = symbolic.key_of(func, args, kwargs)
        if key is None:
            return memo.MISS, None
        made = env.unbacked_created

        def remember(out: Any) -> None:
            if made == env.unbacked_created:
                symbolic.remember(func, args, kwargs, out)

        return symbolic.recall(key, args, kwargs, self.memory), remember

    def _run(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        was, self.running = self.running, True
        try:
            if self.env is None:
                return func(*args, **kwargs)
            with self.env.inside_operator(func):
                out = composites.run(self.env, func, args, kwargs)
                return func(*args, **kwargs) if out is composites.MISS else out
        finally:
            self.running = was

    def guarded(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls `fn`, so that the program sees only exceptions that eager raises too; the rest ends the recording."""
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if error is self._raised:
                raise
            if isinstance(error, memo.Inexact):
                self.context.restart(error)
            self.context.refuse(internal(error))

    def _operator_failed(self, func: OpOverload, error: Exception) -> None:
        refusal = missing_data(func, error)
        if refusal is not None:
            raise refusal from error
        self._raised = error

    def _eagerly(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Calls what eager would call as well: its exceptions are the program's."""
        try:
            return fn(*args)
        except Exception as error:
            self._raised = error
            raise

    def _check_mutation(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Refuses to change a constant from outside, or a view of one: the program would change its own copy."""
        for tensor in _written(func, args, kwargs):
            lifted = self._constant_storages.get(storage_key(tensor))
            if lifted is not None:
                raise CaptureError(
                    "constant-mutated",
                    f"{func} changes {lifted.fqn}, which is neither an input nor a registered buffer",
                    "register it as a buffer (register_buffer), or clone() it first",
                    {"target": lifted.fqn},
                )

    def _check_operands(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Refuses to change in place what a sub-graph was given."""
        for tensor in _written(func, args, kwargs):
            if self.levels.changes_operand(tensor):
                raise CaptureError(
                    "subgraph-mutates",
                    f"{func} changes a tensor from outside of the function that a control-flow operator was given",
                    "clone() it first, or return the new value",
                    {"operator": str(func)},
                )

    def _lift_fresh(self, tensor: torch.Tensor) -> torch.Tensor:
        # torch.tensor(...) ends in lift_fresh of a tensor made outside of all modes. The copy keeps a later in-place
        # operator off the constant (see the comment in proxy_tensor.proxy_call). FakeTensorMode wants the real tensor
        # here, to remember its value for .item().
        if isinstance(tensor, FakeTensor):
            return self._record(torch.ops.aten.lift_fresh_copy.default, (self.node_of(tensor),), {}, tensor.clone())
        lifted = self._lifted_by_id.get(id(tensor)) or self._lift_constant(tensor)
        # A literal, not a constant from outside: nobody else can see it, so the program may change it.
        self._constant_storages.pop(storage_key(lifted.fake), None)
        node = self.node_of(tensor)
        out = torch.ops.aten.lift_fresh.default(tensor)
        return self._record(torch.ops.aten.lift_fresh_copy.default, (node,), {}, out)

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        node = self._call_node(func, args, kwargs, func.overloadpacket.__name__)
        if isinstance(out, torch.Tensor):
            self._bind(out, node)
        elif isinstance(out, (tuple, list)):
            self._bind_each(out, node)
        else:
            node.meta["val"] = out
            if isinstance(out, _SYMBOLIC) and self.sizes is not None:
                self.sizes.add_value(node, out)
        if self.env is not None and self.env.pending_fresh_unbacked_symbols:
            self._bind_unbacked(node, out)
        return out

    def _bind_unbacked(self, node: fx.Node, out: Any) -> None:
        """Notes where the symbols that this operator made are in its result (`unbacked_bindings`, as torch does)."""
        assert self.env is not None and self.sizes is not None
        pending = self.env.pending_fresh_unbacked_symbols
        bindings = unbacked_bindings(self.env, {*pending}, out)
        pending.clear()
        if bindings:
            node.meta["unbacked_bindings"] = bindings

    def _call_node(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> fx.Node:
        self.mark_grad_mode()
        node = self.graph.create_node("call_function", func, args, kwargs, name=name)
        meta = node.meta
        context = self.context
        trace = context.stack_trace()
        if trace is not None:
            meta["stack_trace"] = trace
        meta["nn_module_stack"] = context.module_stack()
        source = context.source_fn_stack()
        if source:
            meta["source_fn_stack"] = source
        meta["torch_fn"] = context.torch_fn() or self._torch_fn(func)
        return node

    def mark_grad_mode(self) -> None:
        """A border of a region, if gradients have been switched since the last node: by the program, or in C++."""
        enabled = torch.is_grad_enabled() if self.around_function is None else self.around_function
        if enabled is not self.marked_grad:
            self.marked_grad = enabled
            self.marker(torch._C._set_grad_enabled, (enabled,))

    def _torch_fn(self, func: Any) -> tuple[str, str]:
        function = self.torch_function or func
        count = self._function_counts[function] = self._function_counts.get(function, 0) + 1
        name = getattr(function, "__name__", str(function))
        return (f"{name}_{count}", f"{type(function).__name__}.{name}")

    def _bind(self, tensor: torch.Tensor, node: fx.Node) -> None:
        assert isinstance(tensor, FakeTensor)
        snapshot = self._stand_ins.input_snapshot if node.op == "placeholder" else self._stand_ins.snapshot
        node.meta["val"], node.meta["tensor_meta"] = snapshot(tensor)
        self._nodes[tensor] = node
        if self.memory is memo.Memory.AUTOGRAD and not tensor.is_leaf:
            self._keep.append(tensor)  # autograd may ask for it (torch.autograd.grad)
        if self.sizes is not None and self.env is not None and self.env.pending_fresh_unbacked_symbols:
            self.sizes.add_tensor(node, tensor)

    def _bind_each(self, out: Sequence[Any], node: fx.Node) -> None:
        values = []
        for index, item in enumerate(out):
            if isinstance(item, torch.Tensor):
                element = self._call_node(operator.getitem, (node, index), {}, "getitem")
                self._bind(item, element)
                values.append(element.meta["val"])
            elif isinstance(item, (tuple, list)):
                element = self._call_node(operator.getitem, (node, index), {}, "getitem")
                self._bind_each(item, element)
                values.append(element.meta["val"])
            elif isinstance(item, _SYMBOLIC) and self.sizes is not None:
                element = self._call_node(operator.getitem, (node, index), {}, "getitem")
                element.meta["val"] = item
                self.sizes.add_value(element, item)
                values.append(item)
            else:
                values.append(item)
        node.meta["val"] = tuple(values) if isinstance(out, tuple) else values

    def _fake(self, arg: Any) -> Any:
        if isinstance(arg, torch.Tensor):
            return self.lift(arg)
        if type(arg) is list or type(arg) is tuple:
            return type(arg)(self._fake(a) for a in arg)
        return arg

    def _lower(self, arg: Any) -> Any:
        """An argument as fx takes it: tensors as nodes, sizes as nodes (or numbers, where they are constant)."""
        if isinstance(arg, torch.Tensor):
            return self._nodes.get(arg)
        if type(arg) is list or type(arg) is tuple:
            return type(arg)(self._lower(a) for a in arg)
        if isinstance(arg, _SYMBOLIC):
            return self.lower_symbolic(arg)
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
        return arg

    def lower_symbolic(self, value: Any) -> Any:
        """A SymInt, SymFloat or SymBool as an argument: the node that computes it, or its value if it is constant."""
        if self.sizes is not None and isinstance(value.node, SymNode):
            return self.sizes.of(value)
        constant = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
        if constant is None:
            raise CaptureError(
                "symbolic-size",
                f"the size {value} is a symbol of the FakeTensorMode that the inputs live in",
                "give real or meta tensors, and say which sizes are dynamic by dynamic_shapes",
            )
        return constant

    def _size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node:
        """A node that computes a size, here."""
        name = function.overloadpacket.__name__ + "_int" if isinstance(function, OpOverload) else function.__name__
        node = self._call_node(function, args, {}, name.strip("_"))
        node.meta["val"] = val
        return node

    def _first_size_node(self, function: Any, args: tuple[Any, ...], val: Any) -> fx.Node:
        """A node that reads a size of an input: behind the placeholders."""
        last = self._last_first
        assert last is not None
        with self.graph.inserting_after(last):
            self._last_first = node = self._size_node(function, args, val)
        return node

    def _assert_metadata(self, tensor: torch.Tensor, node: fx.Node) -> None:
        # torch.export writes down what `.to` took for granted (_insert_aten_to_metadata_assert_pass).
        expected = {"dtype": tensor.dtype, "device": tensor.device, "layout": tensor.layout}
        self._record(torch.ops.aten._assert_tensor_metadata.default, (node,), expected, None)

    def marker(self, func: Callable[..., Any], args: tuple[Any, ...]) -> fx.Node:
        """A node for what is no operator: the borders of no_grad and autocast regions (regions.py outlines them)."""
        node = self._call_node(func, args, {}, func.__name__.lstrip("_"))
        node.meta["val"] = None
        return node

    # --- after the run ---------------------------------------------------------------------------------------------

    def copy_into(self, target: torch.Tensor, value: torch.Tensor) -> None:
        """Records `target.copy_(value)`: the end of a program that assigns a buffer."""
        args = (self.node_of(target), self.node_of(value))
        self._record(torch.ops.aten.copy_.default, args, {}, self.lift(target))

    def clone(self, value: torch.Tensor) -> torch.Tensor:
        """Records `value.clone()`."""
        with self.fake_mode:
            out = torch.ops.aten.clone.default(self.lift(value))
        return self._record(torch.ops.aten.clone.default, (self.node_of(value),), {}, out)

    # --- the run --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Recorder:
        stack, self.grad_enabled = self._stack, torch.is_grad_enabled()
        self.marked_grad = self.grad_enabled
        admit_higher_order_operators()
        stack.callback(torch._C._set_grad_enabled, self.grad_enabled)
        stack.enter_context(disable_autocast_cache())
        stack.enter_context(self.fake_mode)
        stack.enter_context(enable_python_dispatcher())
        stack.enter_context(FunctionMode(self))
        stack.enter_context(OperatorMode(self))
        stack.enter_context(collectives.recorded(self.context.refuse))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._stack.close()
        self._raised = None
        # While recording, a real tensor below this boundary is an error; AOTInductor traces the program's own again.
        self.fake_mode.allow_non_fake_inputs = True


def _plain(fake: torch.Tensor, what: str) -> torch.Tensor:
    """`fake`, if it is a FakeTensor; otherwise it is a subclass that wraps some, which no placeholder can stand for."""
    if not isinstance(fake, FakeTensor):
        raise InvalidArguments(_wrapper(what, fake))
    return fake


def _wrapper(what: str, fake: torch.Tensor) -> str:
    return f"{what} is a {type(fake).__qualname__}, a tensor that wraps others: give forward the tensors inside of it"


def _written(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors that an operator with these arguments changes in place."""
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            yield from (v for v in values if isinstance(v, torch.Tensor))


_REMEMBERS = frozenset({memo.Memory.ALL, memo.Memory.GRADIENT_VIEWS})
_NOT_RECORDED = frozenset({torch.ops.prim.device.default})
_METADATA_ASSERTED = frozenset(
    {torch.ops.aten.to.device, torch.ops.aten.to.dtype, torch.ops.aten.to.dtype_layout},
)
