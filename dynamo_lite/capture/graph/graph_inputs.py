"""Outer tensors of the program: inputs, parameters, buffers and constants, each with a placeholder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch import fx, nn

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode
from dynamo_lite.capture.context import NodeContext
from dynamo_lite.capture.errors import CaptureError, UnknownTensor
from dynamo_lite.capture.fakes import subclasses, wrapper_subclasses
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.input_fakes import InputFakes
from dynamo_lite.capture.graph.lifting import (
    Lifted,
    LiftedKind,
    StateEntry,
    Unwritable,
    are_alike,
    constant_attributes,
    copied,
    registered_state,
    shows_foreign_memory,
)
from dynamo_lite.capture.graph.names import lifted_names, rename_placeholder
from dynamo_lite.capture.graph.shared_views import SharedViews
from dynamo_lite.capture.graph.subgraphs import Levels
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.capture.graph.writer import GraphWriter
from dynamo_lite.capture.interfaces import EarlierRecording
from dynamo_lite.capture.module_tree import unregistered_buffers
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_functorch import is_functorch_wrapped_tensor, unwrap_if_dead


class InputLifter(GraphWriter):
    """A writer that distinguishes outer tensors from those of the run, and lifts those that it meets into the graph.

    Args:
        root: the module whose registered tensors become p_/b_ placeholders, used or not; None for a function.
        input_names: the placeholder names of the flat inputs, in order (`bind_inputs` takes their values).
        earlier: the recording that ran before this one, from the state before; tensors that it left are known.
    """

    def __init__(
        self,
        root: nn.Module | None,
        input_names: Sequence[str],
        fake_mode: FakeTensorMode,
        context: NodeContext,
        earlier: EarlierRecording | None = None,
    ) -> None:
        super().__init__(fake_mode, context)
        self.levels = Levels(self)
        self.lifted: list[Lifted] = []
        self.input_nodes: list[fx.Node] = []
        self.earlier = earlier
        self.subclasses: set[type] = set()
        """Classes of the program's tensors that their fake tensors do not have."""
        self.constant_storages: dict[int, Lifted] = {}  # memory that the program may not change
        self.shared_views = SharedViews(self)
        self.computed_storages: dict[int, Unwritable] = {}  # nor this, which represents memory elsewhere
        self._root = root
        self._lifted_by_id: dict[int, Lifted] = {}
        self._constant_fqns: dict[int, str] | None = None
        self._expected_state: dict[int, tuple[torch.Tensor, str]] = {}
        self._unregistered_buffers: dict[int, tuple[torch.Tensor, bool]] | None = None
        self._outside: dict[int, int | None] = {}  # id of an outer tensor's fake tensor: its number as input
        self._originals: dict[int, torch.Tensor] = {}  # id of a lifted tensor's fake tensor: the tensor itself
        self._carried: dict[int, torch.Tensor] = {}  # id of a tensor that `earlier` left: its fake tensor here
        self.carried_nodes: dict[fx.Node, fx.Node] = {}
        """Placeholders for tensors of `earlier` → the nodes that they have there."""
        self._input_fakes = InputFakes(self.fake_mode, self.fakes, self.keep)
        self._used_names = set(input_names)
        self._input_names = list(input_names)
        self._add_state()

    def _add_state(self) -> None:
        state = [entry for entry in registered_state(self._root) if not self._is_carried(entry)]
        self.fakes.expect(entry.tensor for entry in state)
        prefixes = [("p_" if s.kind is LiftedKind.PARAMETER else "b_", s.fqn) for s in state]
        for entry, name in zip(state, lifted_names(prefixes, self._used_names)):
            self._lift(entry.tensor, entry.kind, entry.fqn, name, entry.persistent)

    def _is_carried(self, entry: StateEntry) -> bool:
        """Whether the earlier recording has made a tensor that is registered now, except for a buffer's new value."""
        if self.earlier is None or entry.fqn in self.earlier.updates:
            return False
        earlier = self.earlier.recorder
        return entry.tensor in earlier.level.nodes and not earlier.is_input(entry.tensor)

    def bind_inputs(self, values: Sequence[Any], policies: Sequence[Any] | None = None) -> list[Any]:
        """Adds a placeholder per flat input. Returns the program's values: a new FakeTensor for a tensor.

        policies: which sizes of each value are symbols: a `TensorPolicy`, a `DimPolicy` for an int, None for none.

        The same tensor given twice becomes two inputs whose fake tensors share memory. A value that is not a tensor is
        a constant of the program and passes through. values: as many as `input_names`.
        """
        if len(values) != len(self._input_names):
            raise ValueError(f"{len(self._input_names)} input names, but {len(values)} values")
        self._input_fakes.expect(values)
        results: list[Any] = []
        for name, value, policy in zip(self._input_names, values, policies or [None] * len(values)):
            node = self.placeholder(name)
            self.input_nodes.append(node)
            if isinstance(value, torch.Tensor):
                self._note_class(value)
                value = self._input_fakes.of(name, value, policy)
                self.bind(value, node)
                self._outside[id(value)] = len(results)
                self.keep.append(value)
            elif policy is not None:
                value = node.meta["val"] = self._symbolic_number(value, policy, name)
                if isinstance(value, SYMBOLIC_TYPES):
                    self.level.sizes.add_value(node, value)  # type: ignore[union-attr]
            else:
                node.meta["val"] = value
            results.append(value)
        self.level.last_first = self.input_nodes[-1] if self.input_nodes else None
        for node, value in zip(self.input_nodes, results):
            if isinstance(value, torch.Tensor) and value._has_symbolic_sizes_strides:
                self.level.sizes.add_tensor(node, value, first=True)  # type: ignore[union-attr]
        return results

    def rebind_input(self, number: int, old: torch.Tensor, tensor: torch.Tensor) -> bool:
        """Makes `tensor`, derived from the fake tensor `old` of a flat input, that input. False if it cannot be."""
        if type(tensor) is not FakeTensor or tensor not in self.level.nodes or not are_alike(old, tensor):
            return False
        with unrecorded():
            tensor.data = old.detach()  # the same memory, in the same layout
        vars(tensor).pop("_dynamo_lite_base", None)
        self.level.nodes[tensor] = self.input_nodes[number]
        self._outside[id(tensor)] = number
        self.keep.append(tensor)
        return True

    def _symbolic_number(self, value: int, policy: Any, name: str) -> Any:
        assert self.env is not None
        return self.env.wrap(self.env.input_size(value, policy, name))

    def _lift(
        self, tensor: torch.Tensor, kind: LiftedKind, fqn: str, name: str, persistent: bool | None = None
    ) -> Lifted:
        self._check_class(tensor, kind, fqn)
        fake = self._fake_of_lifted(tensor, kind, fqn)
        with self.levels.outermost():
            node = self.placeholder(name, after=self.lifted[-1].node if self.lifted else self.level.graph._root)
            lifted = Lifted(kind, fqn, tensor, fake, node, persistent)
            self.lifted.append(lifted)
            self._lifted_by_id[id(tensor)] = lifted
            self._outside[id(fake)] = None
            self._originals[id(fake)] = tensor
            self.bind(fake, node)
            if wrapper_subclasses.is_wrapper(fake):
                self.inner_tensors.add(fake, node, tensor)
        return lifted

    def _fake_of_lifted(self, tensor: torch.Tensor, kind: LiftedKind, fqn: str) -> torch.Tensor:
        """The fake tensor; rejects a tensor that cannot have one."""
        try:
            return self.fakes.of(tensor)
        except Exception as error:
            name = type(tensor).__qualname__
            if not wrapper_subclasses.is_wrapper(tensor):
                raise
            if kind is not LiftedKind.CONSTANT:
                raise InvalidArguments(f"{fqn} of the module is a {name} without a fake tensor: {error}") from error
            raise CaptureError("tensor-subclass", f"{fqn} is a {name}", "use plain tensors", {"name": name}) from error

    def _lift_constant(self, tensor: torch.Tensor) -> Lifted:
        if is_functorch_wrapped_tensor(tensor):
            raise CaptureError(
                "opaque-transform",
                "an operator runs on a tensor inside of torch.vmap, torch.func.grad or another transform",
                "write the batched operators out, or call the transform outside of the exported function",
                {"function": "torch.func"},
            )
        fqn = self._constant_fqn(tensor)
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
        expected = self._expected_state.get(id(tensor))
        if expected is not None and expected[0] is tensor and not tensor.requires_grad:
            fqn = self._free_fqn(expected[1])
            (name,) = lifted_names([("b_", fqn)], self._used_names)
            return self._lift(tensor, LiftedKind.BUFFER, fqn, name, True)
        persistent = self._buffer_of_unregistered(tensor)
        if persistent is not None:
            fqn = self._fresh_fqn("lifted_buffer")
            (name,) = lifted_names([("b_", fqn)], self._used_names)
            return self._lift(tensor, LiftedKind.BUFFER, fqn, name, persistent)
        if fqn is None:
            fqn = self._fresh_fqn("lifted_tensor")
        (name,) = lifted_names([("c_", fqn)], self._used_names)
        lifted = self._lift(tensor, LiftedKind.CONSTANT, fqn, name)
        if tensor.requires_grad:
            lifted.mark = self.context.mark()
        if shows_foreign_memory(tensor):
            self.keep.append(tensor)  # known by its id
            lifted.tensor = copied(tensor)
        for part in (lifted.fake, *wrapper_subclasses.leaves(lifted.fake)):
            self.constant_storages[storage_key(part)] = lifted
        return lifted

    def _constant_fqn(self, tensor: torch.Tensor) -> str | None:
        if self._constant_fqns is None:
            self._constant_fqns = constant_attributes(self._root)
        return self._constant_fqns.get(id(tensor))

    def _buffer_of_unregistered(self, tensor: torch.Tensor) -> bool | None:
        """Whether `tensor` is persistent, as a buffer of an unregistered module; None if it is not such a buffer."""
        if self._unregistered_buffers is None:
            self._unregistered_buffers = unregistered_buffers(self._root)
        found = self._unregistered_buffers.get(id(tensor))
        return found[1] if found is not None and found[0] is tensor and not tensor.requires_grad else None

    def _lift_view(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The fake tensor for a tensor on a registered one's memory; None for any other tensor."""
        if is_functorch_wrapped_tensor(tensor):
            return None
        fake = self.shared_views.fake(tensor, self._constant_fqn(tensor))
        if fake is not None:
            self._carried[id(tensor)] = fake
            self._outside[id(fake)] = None
            self._originals[id(fake)] = tensor
        return fake

    def protect(self, tensor: torch.Tensor) -> None:
        """Reject changes of `tensor`, a constant on memory that no tensor owns (torch.from_numpy).

        The program keeps a copy: the trace's writes to that memory are undone at its end.
        """
        node = self.level.nodes.get(self.lift(tensor))
        while node is not None and node.all_input_nodes:
            node = node.all_input_nodes[0]
        fake = self.levels.captured_by(node)
        lifted = next((e for e in self.lifted if e.node is node or (fake is not None and e.fake is fake)), None)
        if lifted is not None and lifted.kind is LiftedKind.CONSTANT:
            self.constant_storages[storage_key(self.lift(tensor))] = lifted
            self.keep.append(lifted.tensor)
            lifted.tensor = copied(lifted.tensor)

    def _check_class(self, tensor: torch.Tensor, kind: LiftedKind, fqn: str) -> None:
        """Rejects a tensor of a subclass that a plain fake tensor cannot represent."""
        complaint = subclasses.NESTED if tensor.is_nested else subclasses.complaint(type(tensor), is_input=False)
        if complaint is not None and kind is not LiftedKind.CONSTANT:
            raise InvalidArguments(f"the {kind.value} {fqn} is {complaint}")
        if complaint is not None:
            name = type(tensor).__qualname__
            raise CaptureError("tensor-subclass", f"{fqn} is {complaint}", "use plain tensors", {"name": name})
        self._note_class(tensor)

    def _note_class(self, tensor: torch.Tensor) -> None:
        """Record a subclass of torch.Tensor whose operators return tensors of it: fake tensors do not show that."""
        if subclasses.passes_on(type(tensor)):
            self.subclasses.add(type(tensor))

    def _fresh_fqn(self, base: str) -> str:
        taken = {lifted.fqn for lifted in self.lifted}
        return next(name for n in count() if (name := f"{base}_{n}") not in taken)

    def _free_fqn(self, fqn: str) -> str:
        return self._fresh_fqn(fqn) if any(lifted.fqn == fqn for lifted in self.lifted) else fqn

    def expect_state(self, tensor: torch.Tensor, fqn: str) -> None:
        """`tensor`, which no module registers, is state that the program may change: lifted as the buffer `fqn`."""
        self._expected_state[id(tensor)] = tensor, fqn

    def become_state(self, lifted: Lifted) -> bool:
        """Make a buffer of a constant that the program is about to change. False if it cannot be one.

        What the program has computed from it so far are operators: the data of an outer constant is not read
        (constant_values.py). It may not share memory with another constant, which would not change with it.
        """
        tensor = lifted.tensor
        is_plain = type(tensor) in (torch.Tensor, nn.Parameter) and tensor.layout is torch.strided
        if not is_plain or tensor.requires_grad or shows_foreign_memory(tensor):
            return False
        is_own = self._lifted_by_id.get(id(tensor)) is lifted and not tensor.is_conj() and not tensor.is_neg()
        if not is_own or not self.shared_views.is_alone(lifted) or not self.context.keeps(tensor):
            return False
        is_named = self._constant_fqn(tensor) is not None
        lifted.kind, lifted.persistent = LiftedKind.BUFFER, True
        lifted.fqn = lifted.fqn if is_named else self._fresh_fqn("lifted_buffer")
        (name,) = lifted_names([("b_", lifted.fqn)], self._used_names)
        rename_placeholder(lifted.node, name)
        self.constant_storages.pop(storage_key(lifted.fake), None)
        self.context.note_state(lifted.fqn)
        return True

    def is_lifted(self, tensor: torch.Tensor) -> bool:
        """Whether the program has used this very outer tensor, or tensor of the earlier recording."""
        return id(tensor) in self._lifted_by_id or id(tensor) in self._carried

    def lift(self, tensor: torch.Tensor) -> torch.Tensor:
        """The FakeTensor for `tensor`; a real tensor not seen before becomes a constant input.

        One that requires grad (for example a parameter of a module outside the tree) becomes a parameter of the
        program.

        Raises UnknownTensor for a FakeTensor that was not made by a recorded operator.
        """
        if tensor in self.level.nodes:
            return tensor
        if type(tensor) is not FakeTensor and wrapper_subclasses.is_wrapper(tensor) and self._is_made(tensor):
            return self._assembled(tensor)
        if self.levels and (self.levels.sees(tensor) or not self._is_saved_copy(tensor)):
            return self.levels.capture(tensor)
        if self._is_saved_copy(tensor):
            return tensor
        carried = self._carried.get(id(tensor))
        if carried is None and self.earlier is not None and tensor in self.earlier.recorder.level.nodes:
            carried = self._carry(tensor, self.earlier)
        if carried is not None:
            return carried
        if is_functorch_wrapped_tensor(tensor):
            alive = unwrap_if_dead(tensor)
            if alive is not tensor:  # a result of a transform that has ended
                return self.lift(alive)
        lifted = self._lifted_by_id.get(id(tensor))
        if lifted is None:
            inner = self.inner_tensors.find(tensor)
            if inner is not None:
                return self._access(*inner)
            view = self._lift_view(tensor)
            if view is not None:
                return view
            lifted = self._lift_constant(tensor)
        return lifted.fake

    def _is_saved_copy(self, tensor: torch.Tensor) -> bool:
        """Whether this is autograd's own copy of a result of this graph, which it saved for the backward. If so, it
        stands for that result from now on."""
        if not isinstance(tensor, FakeTensor) or tensor.fake_mode is not self.fake_mode or tensor.is_leaf:
            return False
        copied = self.level.nodes.node_of_copy(tensor)
        if copied is not None:
            self.level.nodes[tensor] = copied
        return copied is not None

    def _is_made(self, tensor: torch.Tensor) -> bool:
        """Whether the program has made this wrapper itself, or it is around tensors that the program changes with."""
        if id(tensor) in self._lifted_by_id or id(tensor) in self._carried or self.inner_tensors.find(tensor):
            return False
        with self.context.natively():
            return any(
                isinstance(t, FakeTensor) or id(t) in self._lifted_by_id for t in wrapper_subclasses.leaves(tensor)
            )

    def _assembled(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor for a wrapper that the program has made; the inner tensors may be parameters or buffers."""
        with self.context.natively():
            inner, operator = wrapper_subclasses.parts(tensor).tensors, wrapper_subclasses.Assemble(tensor)
            fakes = [self.lift(part) for part in inner.values()]
            made = operator(*fakes, tensor.shape, tensor.stride())
            if made.requires_grad != tensor.requires_grad:
                what, named = "a wrapper tensor that requires grad by itself", {"name": type(tensor).__qualname__}
                raise CaptureError("tensor-subclass", what, "make it of tensors that require grad", named)
            sizes = self.lower(tuple(tensor.shape)), self.lower(tuple(tensor.stride()))
            node = self.call_node(operator, (*map(self.node_of, fakes), *sizes), {}, "assemble")
        self.keep += (tensor, made)
        if all(fake is part for fake, part in zip(fakes, inner.values())):
            made = tensor
        else:
            self._carried[id(tensor)] = made
        self.bind(made, node)
        return made

    def _access(self, wrapper: fx.Node | torch.Tensor, name: str, fake: torch.Tensor) -> torch.Tensor:
        """A tensor inside of a wrapper."""
        if fake in self.level.nodes:
            return fake
        node = wrapper if isinstance(wrapper, fx.Node) else self.node_of(wrapper)
        return self.record(wrapper_subclasses.ACCESS, (node, name), {}, fake)

    def _carry(self, tensor: torch.Tensor, earlier: EarlierRecording) -> torch.Tensor | None:
        """The fake tensor for a tensor of the earlier recording that each call computes (replayed_constants.py)."""
        former, origin = earlier.recorder.level.nodes.get(tensor), earlier.origin(tensor)
        if former is None or origin is None or origin.reason is not None or not isinstance(tensor, FakeTensor):
            return None
        if tensor.is_conj() or tensor.is_neg():
            return None
        with self.levels.outermost():
            fake = self.fakes.like(tensor)
            fake.requires_grad_(tensor.requires_grad)
        self.carry(fake, former)
        self._carried[id(tensor)] = fake
        self._originals[id(fake)] = tensor
        self.keep += (tensor, fake)
        return fake

    def carry(self, fake: torch.Tensor, former: fx.Node) -> None:
        """Adds a placeholder, represented by `fake`, for the value of node `former` in the earlier recording."""
        with self.levels.outermost():
            node = self.placeholder(f"carried_{len(self.carried_nodes)}", after=self.level.graph._root)
            self.bind(fake, node)
        self.carried_nodes[node] = former

    def node_of(self, tensor: torch.Tensor) -> fx.Node:
        """The node that holds `tensor`'s value now (after an in-place operator: that operator's node)."""
        node = self.level.nodes.get(self.lift(tensor))
        assert node is not None  # lift has just seen to it
        return node

    def original(self, result: Any) -> Any:
        """Eager's result of a torch function that returned `result`: one that returns its argument (`w.to("cpu")`) gets
        the fake tensor of an outer tensor, or of an earlier call, but must return the tensor itself."""
        if type(result) is FakeTensor:
            return self._originals.get(id(result), result)
        if type(result) in (tuple, list) and any(id(item) in self._originals for item in result):
            return type(result)(map(self.original, result))
        return result

    def known_fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake tensor of a tensor that has been lifted; any other tensor as it is. Records nothing."""
        lifted = self._lifted_by_id.get(id(tensor))
        return lifted.fake if lifted is not None else self._carried.get(id(tensor), tensor)

    def from_outside(self) -> list[torch.Tensor]:
        """The fake tensors of inputs, parameters, buffers and constants: the caller can see their memory."""
        inputs = [t for t in self.keep if isinstance(t, torch.Tensor) and self.is_input(t)]
        return [*inputs, *(lifted.fake for lifted in self.lifted), *self._carried.values()]

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether this very FakeTensor represents an input, a parameter, a buffer or an outer constant."""
        return id(tensor) in self._outside

    def input_number(self, tensor: torch.Tensor) -> int | None:
        """The number of the flat input that this very FakeTensor represents; None for any other tensor."""
        return self._outside.get(id(tensor))
