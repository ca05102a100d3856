"""The two torch modes that report the program's operators and functions to a recorder.

`OperatorMode` intercepts each ATen operator at the PreDispatch key: before autograd, before autocast and before
composite operators decompose. `FunctionMode` intercepts torch functions by their Python name, and events that are not
operators: switching gradients and autocast on and off, and `.data`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from types import FunctionType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from dynamo_lite.capture import layout_sources
from dynamo_lite.capture._torch import (
    FakeTensor,
    HigherOrderOperator,
    OpOverload,
    PreDispatchTorchFunctionMode,
    ProxyTorchDispatchMode,
    _enter_autocast,
    _exit_autocast,
    _higher_order_ops,
    _pad_packed_sequence,
    custom_function_call,
    disable_autocast_cache,
    dispatch_functorch,
)
from dynamo_lite.capture._torch_pre_dispatch import Shortcut
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes import subclasses
from dynamo_lite.capture.fakes.data_assignment import assign_data
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.graph import subgraph_calls
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.capture.kernels import (
    composites,
    functorch,
    missing_data,
    number_arguments,
    packed_sequences,
    sized_functions,
    torch_functions,
)
from dynamo_lite.capture.kernels.autocast_regions import casting_key
from dynamo_lite.capture.kernels.indexing import without_numbers
from dynamo_lite.capture.operator_facts import KNOWN as OPERATORS
from dynamo_lite.capture.operator_facts import facts_of
from dynamo_lite.symbolic_shapes.torch_node.layout import QUESTIONS
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    DispatchKey,
    TorchDispatchMode,
    _is_torch_function_mode_enabled,
    _TorchDispatchModeKey,
)
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled as torch_set_grad_enabled
from dynamo_lite.torch_internals._torch_tensors import _debug_has_internal_overlap
from dynamo_lite.undoing import WAITING


class OperatorMode(ProxyTorchDispatchMode):
    """Passes each operator to the recorder.

    torch admits at the PreDispatch key only modes of this type (`_set_mode_pre_dispatch` in torch/_ops.py), and needs
    nothing of it but the type: hence TorchDispatchMode's constructor.
    """

    supports_higher_order_operators = True

    # Attributes that torch reads of a mode of this type (ProxyTorchDispatchMode.__init__ sets them; torch 2.13.0).
    pre_dispatch = True
    tracing_mode = "symbolic"
    emulate_precision_casts = False
    decomp_layers = 0
    _allow_fake_constant = False
    _error_on_data_dependent_ops = True

    def __init__(self, recorder: OperatorRecording) -> None:
        TorchDispatchMode.__init__(self, DispatchKey.PreDispatch)
        self._mode_key = _TorchDispatchModeKey.PROXY
        self.enter_stack: list[ProxyTorchDispatchMode | None] = []
        self.decomposition_table = {}
        self._decomposition_table_stack = []
        self._invoke_subgraph_names = set()
        self._invoke_subgraph_cache = {}
        self._recorder = recorder
        self.shortcut = Shortcut()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether torch wraps `__torch_dispatch__` to keep TorchDynamo away. There is none in a trace, and the wrapper
        imports it."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.shortcut.add(func, self)
        return self.operator(func, args, kwargs or {})

    def operator(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """`__torch_dispatch__`, as the shortcut calls it."""
        if _is_torch_function_mode_enabled():  # from the autograd engine: FunctionMode is active, and would take the
            with DisableTorchFunction():  # recorder's own questions for the program's
                return self.operator(func, args, kwargs)
        inside = functorch.active()
        if inside or self._recorder.memory is Memory.AUTOGRAD:
            func, args = number_arguments.of_powers(self, func, args)
        if inside:
            return self._lower(func, args, kwargs)
        args, kwargs = functorch.outlived(args, kwargs)
        facts = OPERATORS.get(id(func)) or facts_of(func)
        keeps_graph = self._recorder.memory is Memory.AUTOGRAD
        if keeps_graph and (key := casting_key(func)) is not None:
            return self._recorder.guarded(self._with_casts, partial(func._op_dk, key), args, kwargs)
        if facts.by_parts or (keeps_graph and torch.is_grad_enabled() and _is_composite(func)):
            return self._recorder.guarded(self._by_parts, _composite_kernel(func), args, kwargs)
        if self._recorder.lowering:
            with functorch.outermost():
                return self._recorder.guarded(self._recorder.operator, func, args, kwargs)
        return self._recorder.guarded(self._recorder.operator, func, args, kwargs)

    def _lower(self, func: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        """Hands an operator to the functorch transform around it, whose errors are the program's."""
        try:
            return functorch.lower(self._recorder, self, func, args, kwargs)
        except CaptureError as error:
            self._recorder.context.refuse(error)
        except Exception as error:
            if self._recorder.has_dual_level:  # eager has no transform there, and may raise nothing
                what = f"{func} on dual numbers raises {type(error).__name__}: {error}"
                names = {"function": f"{func} on dual numbers ({type(error).__name__}: {str(error)[:80]})"}
                self._recorder.context.refuse(CaptureError("higher-order-operator", what, "use torch.func.jvp", names))
            raise

    def _by_parts(self, kernel: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Records the operators that a composite one consists of. Autograd keeps what passes between them."""
        fakes = pytree.tree_map(self._recorder.fake, (args, kwargs))
        with self:
            return self._recorder.eagerly(partial(kernel, *fakes[0], **fakes[1]))  # its own checks are eager's

    def _with_casts(self, kernel: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Records the casts of autocast, which autograd sees, and the operator on what was cast. A sub-graph keeps no
        casts of autocast's: they would be found outside of it."""
        with disable_autocast_cache() if self._recorder.levels else nullcontext():
            return self._by_parts(kernel, args, kwargs)


_OTHER_IN_PYTHON = frozenset({torch.ops.aten.dropout.default})
"""Composite operators whose kernel in Python rounds differently from eager's in C++ (bfloat16; torch 2.13.0)."""


@cache
def _composite_kernel(func: OpOverload) -> Callable[..., Any]:
    if func in _OTHER_IN_PYTHON:
        return partial(func._op_dk, DispatchKey.CompositeImplicitAutograd)
    return func.decompose


@cache
def _is_composite(func: OpOverload) -> bool:
    return bool(func._can_decompose())


def admit_higher_order_operators() -> None:
    """Makes torch dispatch higher-order operators to OperatorMode: each has a table of the modes that it knows."""
    for op in _higher_order_ops.values():
        op.python_key_table.setdefault(OperatorMode, partial(_higher_order, op))


def _higher_order(op: HigherOrderOperator, mode: OperatorMode, *args: Any, **kwargs: Any) -> Any:
    recorder = mode._recorder
    if op is custom_function_call:  # an autograd.Function inside of a functorch transform
        with mode:
            if functorch.active():
                return dispatch_functorch(op, args, kwargs)
            return args[0].apply(*args[1:], **kwargs)
    return recorder.guarded(subgraph_calls.record, recorder, op, args, kwargs)


class FunctionMode(PreDispatchTorchFunctionMode):
    """Reports to the recorder the torch function that runs, and events outside of operators.

    `torch.autocast` looks for a PreDispatchTorchFunctionMode by type (torch/amp/autocast_mode.py) and calls its
    `__torch_function__` with `_enter_autocast` and `_exit_autocast`; the context manager itself has run by then.
    """

    def __init__(self, recorder: OperatorRecording) -> None:
        TorchFunctionMode.__init__(self)
        self._recorder = recorder

    @property
    def tracer(self) -> Any:  # type: ignore[override]
        """Read by torch._export.wrappers when the program creates a tensor that wraps others, which is rejected."""
        what = "the program makes a tensor that wraps others, which no operator shows"
        named = {"name": "one that wraps others"}
        self._recorder.context.refuse(CaptureError("tensor-subclass", what, "use plain tensors", named))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if WAITING.is_due:
            WAITING.raise_it()
        handler = _HANDLERS.get(func)
        if handler is not None:
            return self._recorder.guarded(handler, self._recorder, *args, **(kwargs or {}))
        self._recorder.torch_function = func
        try:
            if types and (_KEEP_OPERATORS.issuperset(types) or self._subclass(types)):
                with DisableTorchFunctionSubclass():  # else torch makes the result, a fake tensor, of the class
                    result = self._call(func, args, kwargs or {})
            else:
                result = self._call(func, args, kwargs or {})
        except RuntimeError as error:
            if missing_data.is_without_data(error):
                self._recorder.context.refuse(missing_data.reads_data(getattr(func, "__name__", str(func))))
            raise
        return result if self._recorder.running else self._recorder.original(result)

    def _subclass(self, types: Any) -> bool:
        """Whether all arguments that could answer themselves are tensors whose class leaves operators alone."""
        changing = [cls for cls in types if subclasses.is_subclass(cls) and not subclasses.keeps_operators(cls)]
        if changing:
            name = changing[0].__qualname__
            what = f"the program calls an operator on a {name}, whose __torch_function__ decides what it does"
            self._recorder.context.refuse(CaptureError("tensor-subclass", what, "use plain tensors", {"name": name}))
        return all(issubclass(cls, torch.Tensor) and subclasses.keeps_operators(cls) for cls in types)

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        recorded = self._recorder.level.graph._len
        try:
            return self._call_once(func, args, kwargs)
        except (TypeError, RuntimeError) as error:
            if missing_data.wants_an_array(error):
                self._recorder.context.refuse(missing_data.reads_data("Tensor.numpy()"))
            if self._recorder.level.graph._len > recorded or not number_arguments.may_need_numbers(error, args, kwargs):
                raise
        kwargs = {name: number_arguments.plain(value) for name, value in kwargs.items()}
        return self._call_once(func, tuple(map(number_arguments.plain, args)), kwargs)

    def _call_once(self, func: Any, args: Any, kwargs: Any) -> Any:
        env = self._recorder.env
        if env is not None and func in sized_functions.RULES:
            found = sized_functions.result_of(env, func, args, kwargs)
            if found is not None:
                return found
        if func is _GETITEM or func is _SETITEM:
            args = (*without_numbers(self._recorder, args[0], args[1]), *args[2:])
            if func is _SETITEM and env is not None:
                with env.storing():  # it strips leading dimensions of size 1 from the value
                    return func(*args)
        elif func in _ASKING:
            return self._asking(func, args, kwargs)
        elif func is _EQ and self._recorder.context.found_as_one(*args):
            return True
        elif type(func) is FunctionType and self._recorder.env is not None:
            with self._recorder.env.inside_torch():  # this mode does not intercept calls made by the function
                return _WITH_SIZES.get(func, func)(*args, **kwargs)
        return func(*args, **kwargs)

    def _asking(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Calls a binding that compares sizes before it calls an operator."""
        env, layout = self._recorder.env, self._recorder.layout
        if env is not None and len(args) == 1 and not kwargs and isinstance(args[0], FakeTensor):
            is_itself = composites.may_be_itself(env, args[0])
            if is_itself is False or (is_itself and layout.knows_copies):
                with env.copying():
                    out = _ASKING[func](*args)
                layout.depends(args[0], out, "contiguity", is_one=is_itself)
                return out
        with nullcontext() if env is None else env.inside_operator(_ASKING[func]):
            out = func(*args, **kwargs)
        asked = "strides" if len(args) > 1 or kwargs else "contiguity"
        layout.depends(args[0], out, asked, is_recorded=out is not args[0])
        return out


_WITH_SIZES: dict[Any, Any] = {torch.functional.einsum: torch_functions.einsum}
"""Functions of torch written in Python that take the number of a size for nothing that a result shows."""
_ASKING: dict[Any, Any] = {torch.Tensor.contiguous: torch.ops.aten.contiguous.default}
"""Bindings that compare sizes before they call an operator, and the operator whose kernel's rule applies."""


def _is_contiguous(recorder: OperatorRecording, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    layout_sources.ask(recorder, "layout" if args or kwargs else "contiguity", tensor)
    if recorder.env is None:
        return tensor.is_contiguous(*args, **kwargs)
    with recorder.env.exactly():
        if not args and not kwargs and tensor.layout is torch.strided and tensor._has_symbolic_sizes_strides:
            sizes, strides = ([recorder.env.unwrap(n) for n in part] for part in (tensor.shape, tensor.stride()))
            question = QUESTIONS["is_contiguous"](sizes, strides)
            if recorder.env.hint_of(question) is not None:  # as a whole: part by part, a size of 1 is checked first
                answer = recorder.env.wrap(question)
                known = answer if type(answer) is bool else recorder.env.decide_node(answer.node)
                return answer if known is None else known
        return tensor.is_contiguous(*args, **kwargs)


def _is_dense(recorder: OperatorRecording, tensor: torch.Tensor) -> bool:
    layout_sources.ask(recorder, "layout", tensor)
    return bool(torch.ops.aten.is_non_overlapping_and_dense.default(tensor))


def _stride(recorder: OperatorRecording, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    layout_sources.ask(recorder, "strides", tensor, _dimensions(tensor, *args, **kwargs))
    # The strides of a tensor without elements are not the products of its sizes (symbolic_shapes/torch_env/env.py).
    if recorder.env is not None and tensor._has_symbolic_sizes_strides:
        recorder.env.expect_true(recorder.env.unwrap(tensor.numel() != 0))
    return tensor.stride(*args, **kwargs)


def _dimensions(tensor: torch.Tensor, dim: Any = None) -> list[int] | None:
    """The dimensions whose strides `Tensor.stride` returns; None for all of them."""
    return [dim % tensor.dim()] if type(dim) is int and -tensor.dim() <= dim < tensor.dim() else None


def _asking_strides(fn: Callable[..., Any]) -> Callable[..., Any]:
    def ask(recorder: OperatorRecording, *args: Any, **kwargs: Any) -> Any:
        layout_sources.ask(recorder, "strides", args[0])
        with nullcontext() if recorder.env is None else recorder.env.inside_torch():
            return recorder.eagerly(partial(fn, **kwargs), *args)

    return ask


def _storage_offset(recorder: OperatorRecording, tensor: torch.Tensor) -> Any:
    layout_sources.ask(recorder, "offset", tensor)
    return tensor.storage_offset()


def _is_conj(recorder: OperatorRecording, tensor: torch.Tensor) -> bool:
    recorder.layout.ask("conj")
    return torch.is_conj(tensor)


def _is_inference(recorder: OperatorRecording, tensor: torch.Tensor) -> bool:
    recorder.layout.ask("inference")
    return torch.is_inference(tensor)


def _is_neg(recorder: OperatorRecording, tensor: torch.Tensor) -> bool:
    recorder.layout.ask("neg")
    return torch.is_neg(tensor)


def _set_grad_enabled(recorder: OperatorRecording, enabled: bool) -> None:
    torch_set_grad_enabled(enabled)  # the recorder marks the border when the next node is made


def _enter(recorder: OperatorRecording, *args: Any) -> None:
    recorder.autocast.enter(args)


def _exit(recorder: OperatorRecording, *_: Any) -> None:
    recorder.autocast.exit()


def _get_data(recorder: OperatorRecording, tensor: torch.Tensor) -> torch.Tensor:
    # x.data shares x's memory as x.detach() does, but does not dispatch; only the version counter differs.
    return tensor.detach()


def _bytes(recorder: OperatorRecording, tensor: torch.Tensor) -> Any:
    return tensor.numel() * tensor.element_size()  # what C++ computes, and refuses to where sizes vary


def _set_data(recorder: OperatorRecording, tensor: torch.Tensor, value: torch.Tensor) -> None:
    assign_data(recorder, tensor, value)


def _random_between(recorder: OperatorRecording, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Tensor.random_(from, to): fx cannot write a call of the overload `from`, a word of Python itself. The same
    numbers are drawn by randint_like (aten/src/ATen/native/TensorFactories.cpp)."""
    bounds = [*args, *(kwargs[name] for name in ("from", "to") if name in kwargs)]
    if len(bounds) != 2 or None in bounds or kwargs.get("generator") is not None:
        return tensor.random_(*args, **kwargs)
    return tensor.copy_(torch.randint_like(tensor, *bounds))


def _deep_copy(recorder: OperatorRecording, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    return recorder.deep_copy(tensor, memo)


def _reads_data(name: str) -> Callable[..., Any]:
    def refuse(recorder: OperatorRecording, *_: Any, **__: Any) -> Any:
        raise missing_data.reads_data(f"Tensor.{name}()")

    return refuse


_KEEP_OPERATORS: frozenset[Any] = frozenset(filter(subclasses.keeps_operators, (FakeTensor, torch.nn.Parameter)))
_GETITEM, _SETITEM = torch.Tensor.__getitem__, torch.Tensor.__setitem__
_EQ: Any = torch.Tensor.__eq__

_aten = torch.ops.aten
_ASK_STRIDES = (
    *(torch.Tensor.dim_order, _debug_has_internal_overlap, _aten.stride, _aten.stride.default),
    *(_aten.sym_stride, _aten.sym_stride.default),
)
"""Functions implemented in Python or C++ without an operator."""
_HANDLERS: dict[Any, Callable[..., Any]] = {
    torch_set_grad_enabled: _set_grad_enabled,
    _enter_autocast: _enter,
    _exit_autocast: _exit,
    torch.Tensor.stride: _stride,
    torch.Tensor.storage_offset: _storage_offset,
    torch.Tensor.is_contiguous: _is_contiguous,
    **dict.fromkeys((torch.Tensor.is_conj, torch.is_conj), _is_conj),
    **dict.fromkeys((torch.Tensor.is_inference, torch.is_inference), _is_inference),
    **dict.fromkeys((torch.Tensor.is_neg, torch.is_neg), _is_neg),
    torch.ops.aten.is_non_overlapping_and_dense: _is_dense,
    torch.ops.aten.is_non_overlapping_and_dense.default: _is_dense,
    **{fn: _asking_strides(fn) for fn in _ASK_STRIDES},
    torch.Tensor.__deepcopy__: _deep_copy,
    torch.Tensor.random_: _random_between,
    torch.Tensor.data.__get__: _get_data,  # type: ignore[attr-defined]
    torch.Tensor.data.__set__: _set_data,  # type: ignore[attr-defined]
    torch.Tensor.nbytes.__get__: _bytes,  # type: ignore[attr-defined]
    **dict.fromkeys((torch.Tensor.equal, torch.equal), torch_functions.equal),
    **dict.fromkeys((torch.Tensor.allclose, torch.allclose), torch_functions.allclose),
    _pad_packed_sequence: packed_sequences.pad_packed_sequence,
    torch.Tensor.numpy: _reads_data("numpy"),
    torch.Tensor.__array__: _reads_data("__array__"),
    torch.Tensor.__reduce_ex__: _reads_data("__reduce_ex__"),
}
