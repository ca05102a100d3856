"""The recorder: one pass over a program, each ATen operator becomes one node of an fx.Graph.

    recorder = Recorder(root_module, input_names=["x"], context=context)
    fakes = recorder.bind_inputs([x])
    with recorder:
        result = run_the_program(*fakes)
    # recorder.level.graph, recorder.lifted, recorder.node_of(tensor)

Operators run on FakeTensors. The program's real tensors (parameters, buffers, globals) stay where they are on the heap
and are replaced by their fake tensors at the operator boundary. writer.py writes nodes, and graph_inputs.py lifts outer
tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import fx, nn

from dynamo_lite.capture import in_place_checks, layout_sources
from dynamo_lite.capture._torch import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    enable_python_dispatcher,
)
from dynamo_lite.capture._torch_pre_dispatch import modes_of_thread
from dynamo_lite.capture.constant_values import ConstantValues
from dynamo_lite.capture.context import NoContext, NodeContext
from dynamo_lite.capture.dispatch_modes import FunctionMode, OperatorMode, admit_higher_order_operators
from dynamo_lite.capture.fakes import deep_copies, kernel_layouts, static_cache, wrapper_subclasses
from dynamo_lite.capture.fakes.fake_mode import symbolic_mode
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.known_results import KnownResults
from dynamo_lite.capture.fakes.saved_originals import OriginalsSaved
from dynamo_lite.capture.graph.graph_inputs import InputLifter
from dynamo_lite.capture.in_place_checks import written
from dynamo_lite.capture.kernels import collectives, eager_errors, number_arguments, symbolic_kernels, withheld_errors
from dynamo_lite.capture.kernels.autocast_regions import AutocastRegions
from dynamo_lite.capture.kernels.layout_questions import FAILS_BY_LAYOUT, LayoutQuestions
from dynamo_lite.capture.kernels.missing_data import internal, missing_data
from dynamo_lite.capture.may_share import MayShare
from dynamo_lite.capture.operator_facts import KNOWN as OPERATORS
from dynamo_lite.capture.operator_facts import UNANSWERED, OperatorFacts, RecordedCall, facts_of
from dynamo_lite.capture.same_values import are_all_equal
from dynamo_lite.symbolic_shapes.torch_env.broadcasting import ask_for_borders
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled

if TYPE_CHECKING:
    from dynamo_lite.capture.comparison.fingerprint import Fingerprint

_NUMBERS = (bool, int, float, complex, type(None))


class Recorder(InputLifter):
    """Records the operators of one run into `graph`. Use it once, as a context manager around the run.

    Args:
        root: the module whose registered tensors become p_/b_ placeholders, used or not; None for a function.
        input_names: the placeholder names of the flat inputs, in order (`bind_inputs` takes their values).
        fake_mode: the FakeTensorMode to run under; the one that the inputs or the state live in, if they are fake.
        context: answers for the metadata of nodes.
        earlier: the recording that ran before this one, from the state before; tensors that it left are known.
    """

    def __init__(
        self,
        root: nn.Module | None = None,
        input_names: Sequence[str] = (),
        *,
        fake_mode: FakeTensorMode | None = None,
        context: NodeContext | None = None,
        earlier: Fingerprint | None = None,
    ) -> None:
        context = context or NoContext(type(root) if root is not None else None)
        super().__init__(root, input_names, fake_mode or symbolic_mode(), context, earlier)
        self.grad_enabled = torch.is_grad_enabled()
        self.layout = LayoutQuestions(self.env, lambda error: self.context.restart(error))
        self.constant_values = ConstantValues(self, self.eagerly)
        self.has_dual_level = False  # within a dual level of the program, represented by a functorch transform
        self.lowering = 0  # how deep in functorch transforms (functorch.py), whose keys static_cache.py does not know
        self.running = False  # whether an operator is running on fake tensors
        self._known = KnownResults(self.fake_mode, self.env)
        self.passing: list[fx.Node] = []  # what made containers of inputs: no part of the program unless it is used
        self._raised: Exception | None = None
        self.worded_for: tuple[Exception, list[Any] | None] | None = None
        """An operator's last error, and the symbolic sizes of its arguments: the text is eager's where they are as in
        the example. None if eager's may be another."""
        self.may_share: MayShare | None = None  # where branches on data are captured
        self.autocast = AutocastRegions(self)
        self._stack = ExitStack()

    def alias(self, new: torch.Tensor, of: torch.Tensor) -> None:
        """Registers `new`, made without dispatching, as the same tensor as `of` (shape, memory and all)."""
        self.level.nodes[new] = self.node_of(of)

    def has_changed_something(self) -> bool:
        """Whether an operator so far may have written to a tensor: in place, or in a sub-graph."""
        targets = [node.target for node in self.level.graph.nodes if node.op == "call_function"]
        plain = [isinstance(target, OpOverload) and not target._schema.is_mutable for target in targets]
        writes_statistics = torch.ops.aten.batch_norm.default in targets  # not in its schema
        return bool(self.levels) or not all(plain) or writes_statistics

    def deep_copy(self, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
        """`copy.deepcopy(tensor)`: a leaf, with a copy of the tensor's memory."""
        if not tensor.is_leaf:
            self._raised = RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"
            )
            raise self._raised
        if not self.eagerly(operator.contains, memo, id(tensor)):
            memo[id(tensor)] = deep_copies.deep_copy(self, tensor, memo)
        return memo[id(tensor)]

    def operator(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs `func` on fake tensors and records it. Its exceptions propagate, and leave no node."""
        facts = OPERATORS.get(id(func)) or facts_of(func)
        for instead in facts.instead:
            if (found := instead(self, facts, args, kwargs)) is not UNANSWERED:
                return found
        entries, fake = self.level.nodes.entries, self.fake
        fake_args = tuple(
            [a if type(a) in _PLAIN or (type(a) is FakeTensor and id(a) in entries) else fake(a) for a in args]
        )
        fake_kwargs = {k: fake(v) for k, v in kwargs.items()} if kwargs else {}
        has_wrappers = self.inner_tensors.any and wrapper_subclasses.among(fake_args, fake_kwargs)
        memorises = self.memory is _ALL or self.memory is _GRADIENT_VIEWS
        remembers = memorises and not self.lowering and not has_wrappers
        call = RecordedCall(func, facts, fake_args, fake_kwargs, has_wrappers, remembers)
        for answer in facts.answers:
            if (found := answer(self, call)) is not UNANSWERED:
                return found
        call.node_args = tuple([a if type(a) in _PLAIN else self.lower(a) for a in call.args])
        if kwargs:
            call.node_kwargs = {k: self.lower(v) for k, v in call.kwargs.items()}
        if self.autocast.cache is not None:
            self.autocast.cache.check(func, call.args, written(func, call.args, call.kwargs))
        for check in facts.checks:
            check(self, call)
        out = self._result_of(call)
        for result in facts.results:
            if (found := result(self, call, out)) is not UNANSWERED:
                return found
        if facts.returns and isinstance(out, _NUMBERS):
            return out  # a question with a plain answer: .item() of a constant, is_same_size, ...
        may_raise = facts.may_raise
        if may_raise is not None and may_raise.asks(call.args, call.kwargs):
            self.context.may_raise(str(func), may_raise.kinds)
        elif self.context.in_handler():
            self._within_handler(call)
        self.record(func, call.node_args, call.node_kwargs, out)
        for carry in call.to_carry:
            carry()
        return out

    def _result_of(self, call: RecordedCall) -> Any:
        """The operator's result on fake tensors, known or by a run."""
        facts, args, kwargs = call.facts, call.args, call.kwargs
        out, remember = self._known.recall(facts, args, kwargs, self.memory) if call.remembers else _UNKNOWN
        call.is_known = out is not static_cache.MISS
        if not call.is_known:
            try:
                out = self._run_as(facts, call.has_wrappers, args, kwargs)
            except Exception as error:
                self._operator_failed(call.func, args, kwargs, error)
            if remember is not None:
                remember(out)
        elif facts.detaches:
            vars(out).pop("_dynamo_lite_base", None)  # it shares memory, and is not a view to autograd
        return out

    def _within_handler(self, call: RecordedCall) -> None:
        """The program may catch an error of the operator that fake tensors do not raise."""
        facts = call.facts
        if not (facts.sees_memory or (call.is_known and facts.has_no_kernel)):
            self.raise_withheld(call.func, call.args, call.kwargs, call.is_known and facts.is_elementwise)
        if facts.fails_by_layout and self.context.goes_on(frozenset({RuntimeError})):
            layout_sources.tried(self, call.func, call.args)

    def compares_equal(self, func: OpOverload, args: Sequence[Any]) -> bool:
        """Whether an operator compares tensors that are equal for all sizes."""
        return self.env is not None and are_all_equal(self, func, args, self.env.unwrap)

    def check_shapes(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Refuse a change of shape in place that the program's own tensors do not follow."""
        in_place_checks.check_shapes(self._originals, func, args, kwargs)

    def before_writes(self, func: OpOverload, args: Sequence[Any], kwargs: Any) -> list[Callable[[], None]]:
        """The calls to make once `func` has changed its operands in place, for tensors that may be the same."""
        if self.constant_storages or self.computed_storages:
            self._check_mutation(func, args, kwargs)
        if (error := in_place_checks.overlap_error(func, args, kwargs)) is not None:
            self._raised = error
            raise error
        found = []
        for tensor in written(func, args, kwargs):
            self.layout.matters(tensor, "written")
            if self.may_share is not None:
                found.append(self.may_share.before_write(tensor, in_place_checks.may_reshape(func)))
        if self.levels:
            in_place_checks.check_operands(self.levels, func, args, kwargs)
        return [carry for carry in found if carry is not None]

    def _run(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if func is _DROPOUT and len(args) == 3 and not args[2]:
            # As eager does. A sub-graph may return it: its results have memory of their own.
            return _CLONE(args[0]) if self.levels else args[0]
        was, self.running = self.running, True
        try:
            out = self._run_kernel(func, args, kwargs)
            if func in kernel_layouts.TWINS:
                return kernel_layouts.as_twins(func, out)
            if func not in kernel_layouts.OTHERWISE:
                return out
            keeps_graph = self.memory is static_cache.Memory.AUTOGRAD
            return kernel_layouts.as_eager(func, args, kwargs, out, self.layout.unasked, keeps_graph)
        finally:
            self.running = was

    def _run_as(self, facts: OperatorFacts, has_wrappers: bool, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs an operator; records the copies that autograd makes of the operands of an in-place one."""
        run = self._run_wrapped if has_wrappers else self._run
        run = kernel_layouts.run_into(run, self.layout.unasked) if facts.reshapes else run
        if self.memory is not static_cache.Memory.AUTOGRAD or not facts.is_mutable:
            out = run(facts.func, args, kwargs)
            return self._zeros(out, args[0]) if type(out) is torch.Tensor else out
        with OriginalsSaved(written(facts.func, args, kwargs)) as saved:
            out = run(facts.func, args, kwargs)
        for original, clone in saved.clones:
            self.record(_CLONE, (self.node_of(original),), {}, clone)
        return out

    def _zeros(self, view: torch.Tensor, of: Any) -> torch.Tensor:
        """A fake tensor for a view of a tangent that is zero everywhere: torch makes a plain meta tensor of it."""
        if not view.is_meta or type(of) is not FakeTensor:
            return view
        with self.fake_mode:
            return torch.ops.aten._efficientzerotensor.default(view.shape, dtype=view.dtype, device=of.device)

    def _run_kernel(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.env is None:
            return func(*args, **kwargs)
        with self.env.inside_operator(func):
            if self.memory is static_cache.Memory.AUTOGRAD and static_cache.any_requires_grad(args, kwargs):
                return func(*args, **kwargs)  # the result of a rule has no autograd graph
            return symbolic_kernels.run(self.env, func, number_arguments.as_numbers(args), kwargs)

    def _run_wrapped(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs an operator on wrappers, as their class implements it."""
        was, self.running = self.running, True
        try:
            with self.context.natively(), self.env.inside_operator(func) if self.env else nullcontext():
                return func(*args, **kwargs)
        finally:
            self.running = was

    def guarded(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls `fn`, so that the program sees only exceptions that eager raises too; the rest ends the recording."""
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if error is self._raised:
                raise
            if isinstance(error, static_cache.Inexact):
                self.context.restart(error)
            self.context.refuse(internal(error))

    def _operator_failed(
        self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception
    ) -> NoReturn:
        if func in FAILS_BY_LAYOUT:
            layout_sources.tried(self, func, args)
        elif self.env is not None and self.context.goes_on(frozenset({RuntimeError, type(error)})):
            ask_for_borders(self.env, eager_errors.symbolic_sizes((args, kwargs)))
        if not eager_errors.lacks_no_kernel(func, args, kwargs, error):
            graph_break = missing_data(func, error)
            if graph_break is not None:
                raise graph_break from error
            self._raised = error
        self._raise_eager_error(func, args, kwargs, error)

    def _raise_eager_error(
        self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception
    ) -> NoReturn:
        """Raises the program's error, as C++ does: Python code that ran in place of a kernel handles nothing."""
        raised = self._raised = self._eager_error(func, args, kwargs, error)
        try:
            raise raised
        finally:
            raised.__cause__ = raised.__context__ = None
            raised.__suppress_context__ = False

    def _eager_error(
        self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception
    ) -> Exception:
        """The exception for the program, where `error` was raised on fake tensors."""
        try:
            raised = eager_errors.of_eager(func, args, kwargs, error)
        except eager_errors.NotAsked:
            self.worded_for = (error, None)
            return error
        if raised is not error:
            self.worded_for = (raised, eager_errors.sizes_of_text((args, kwargs)))
        return raised

    def raise_withheld(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], sizes_fit: bool) -> None:
        """Raises the error of eager that fake tensors do not raise, if the program may catch it."""
        found = withheld_errors.withheld(func, args, kwargs, self.context, self.layout, sizes_fit)
        if found is None:
            return
        self._raised, sizes = found
        for size in sizes:
            size.node.evaluate()  # that it fails is known for these sizes
        self.worded_for = (self._raised, [])
        raise self._raised

    def eagerly(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Calls what eager would call as well: its exceptions are the program's."""
        try:
            return fn(*args)
        except Exception as error:
            self._raised = error
            raise

    def _check_mutation(self, func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        in_place_checks.check_constants(self, func, args, kwargs)

    def lift_fresh(self, tensor: torch.Tensor) -> torch.Tensor:
        """Record a copy of a literal."""
        # torch.tensor(...) ends in lift_fresh of a tensor made outside of all modes. The copy keeps a later in-place
        # operator off the constant. FakeTensorMode wants the real tensor here, to remember its value for .item().
        if isinstance(tensor, FakeTensor):
            return self.record(torch.ops.aten.lift_fresh_copy.default, (self.node_of(tensor),), {}, tensor.clone())
        if self._lift_view(tensor) is not None:  # torch.from_numpy(buffer.numpy())
            return self.lift(tensor)
        lifted = self._lifted_by_id.get(id(tensor)) or self._lift_constant(tensor)
        # A literal, not an outer constant: only the program can see it, and may change it.
        self.constant_storages.pop(storage_key(lifted.fake), None)
        node, out = self.node_of(tensor), torch.ops.aten.lift_fresh.default(tensor)
        return self.record(torch.ops.aten.lift_fresh_copy.default, (node,), {}, out)

    def fake(self, arg: Any) -> Any:
        if isinstance(arg, torch.Tensor):
            if type(arg) is nn.Parameter and not self.levels and not self._carried and self.earlier is None:
                lifted = self._lifted_by_id.get(id(arg))  # what `lift` comes to for a parameter that is known
                if lifted is not None:
                    return lifted.fake
            return self.lift(arg)
        if type(arg) is list or type(arg) is tuple:
            return type(arg)(self.fake(a) for a in arg)
        return arg

    def copy_into(self, target: torch.Tensor, value: torch.Tensor) -> None:
        """Records `target.copy_(value)`: the end of a program that assigns a buffer."""
        self.record(torch.ops.aten.copy_.default, (self.node_of(target), self.node_of(value)), {}, self.lift(target))

    def clone(self, value: torch.Tensor) -> torch.Tensor:
        """Records `value.clone()`."""
        with self.fake_mode:
            return self.record(_CLONE, (self.node_of(value),), {}, _CLONE(self.lift(value)))

    def __enter__(self) -> Recorder:
        stack, self.grad_enabled = self._stack, torch.is_grad_enabled()
        self.level.marked_grad = self.grad_enabled
        admit_higher_order_operators()
        stack.enter_context(modes_of_thread())
        stack.callback(_set_grad_enabled, self.grad_enabled)
        stack.callback(torch.clear_autocast_cache)  # it may hold fake tensors
        stack.enter_context(self.fake_mode)
        stack.enter_context(enable_python_dispatcher())
        stack.enter_context(FunctionMode(self))
        mode = stack.enter_context(OperatorMode(self))
        stack.callback(mode.shortcut.clear)
        mode.shortcut.add_common(mode)
        stack.enter_context(collectives.recorded(self.context.refuse))
        return self

    def close(self) -> None:
        """Leave what `__enter__` has entered, as far as that is not done."""
        self._stack.close()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            self.close()
        except Exception:
            if error is None or isinstance(error, Exception):
                raise  # else it follows from an interruption: the state is put back as a whole (exclusive.py)
        self._raised = None
        # While recording, a real tensor below this boundary is an error; AOTInductor traces the program's own again.
        self.fake_mode.allow_non_fake_inputs = True


_UNKNOWN = (static_cache.MISS, None)
_ALL, _GRADIENT_VIEWS = static_cache.Memory.ALL, static_cache.Memory.GRADIENT_VIEWS
_DROPOUT, _CLONE = torch.ops.aten.dropout.default, torch.ops.aten.clone.default
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format})
"""Arguments that are passed and stored in nodes unchanged."""
