"""Which call is answered by which family: id(callable) → rule, for tracing/calls/registry.py."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.autograd.function import FunctionMeta

from dynamo_lite.capture.graph.subgraph_calls import mark_branch
from dynamo_lite.torch_internals._torch_autograd import function_apply
from dynamo_lite.torch_internals._torch_dispatch import _autograd
from dynamo_lite.tracing.higher_order.autograd import (
    call_grad,
    call_hook,
    call_pop_saved_hooks,
    call_push_saved_hooks,
)
from dynamo_lite.tracing.higher_order.cond import call_cond
from dynamo_lite.tracing.higher_order.flex_attention import call_flex_attention, call_flex_attention_backward
from dynamo_lite.tracing.higher_order.functions import call_apply, call_function
from dynamo_lite.tracing.higher_order.loops import call_associative_scan, call_map, call_scan, call_while_loop
from dynamo_lite.tracing.higher_order.regions import (
    call_flex_gemm,
    call_hints,
    call_local_map,
    call_region,
    call_strict_mode,
    call_wrapped,
)
from dynamo_lite.tracing.higher_order.switch import call_switch
from dynamo_lite.tracing.interfaces import TracerView


def _call_graph_module(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an fx.GraphModule: the method that torch wraps. The wrapper's handler writes an error of the generated code
    to stderr and raises it again; it is not a handler of the program."""
    wrapped, module, *rest = args
    call = wrapped.cls_call.__get__(module) if wrapped.cls_call is not None else super(wrapped.cls, module).__call__
    return tracer.vm.call(call, tuple(rest), kwargs)


# "module:Class" of a higher-order operator, or of torch.fx → the rule of its `__call__`; the first argument is self.
_OPERATORS: dict[str, Any] = {
    "torch._functorch.autograd_function:AutogradFunctionApply": call_apply,
    "torch._higher_order_ops._invoke_quant:InvokeQuantTracer": call_wrapped,
    "torch._higher_order_ops.base_hop:BaseHOP": call_wrapped,
    "torch._higher_order_ops.cond:CondOp": call_cond,
    "torch._higher_order_ops.flex_attention:FlexAttentionHOP": call_flex_attention,
    "torch._higher_order_ops.flex_attention:FlexAttentionBackwardHOP": call_flex_attention_backward,
    "torch._higher_order_ops.flex_gemm:FlexGemm": call_flex_gemm,
    "torch._higher_order_ops.hints_wrap:HintsWrapper": call_hints,
    "torch._higher_order_ops.local_map:LocalMapHOP": call_local_map,
    "torch._higher_order_ops.map:MapImpl": call_map,
    "torch._higher_order_ops.scan:ScanOp": call_scan,
    "torch._higher_order_ops.associative_scan:AssociativeScanOp": call_associative_scan,
    "torch._higher_order_ops.strict_mode:StrictMode": call_strict_mode,
    "torch._higher_order_ops.switch:SwitchOp": call_switch,
    "torch._higher_order_ops.while_loop:WhileLoopOp": call_while_loop,
    "torch._higher_order_ops.while_loop:WhileLoopStackOutputOp": call_while_loop,
    "torch.fx.graph_module:_WrappedCall": _call_graph_module,
}


def _call_outside(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call code that torch runs once a process: it is not part of the program, and must not be undone."""
    with tracer.suspended():
        return fn(*args, **kwargs)


def _call_taken_side(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A branch in the module of a program, which is exported again: a torch.cond, and a branch of Python as before."""
    result = call_cond(tracer, fn, (torch.ops.higher_order.cond, *args), kwargs)
    if fn.__name__ == "taken_side_by_data" and not isinstance(args[0], bool):
        mark_branch(tracer.recorder.graph)
    return result


def _call_iterations(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A loop in the module of a program, which is exported again: torch's operator."""
    return call_scan(tracer, fn, (torch.ops.higher_order.scan, *args), kwargs)


# "module:function" → the rule for it.
_FUNCTIONS: dict[str, Any] = {
    "dynamo_lite.program.modules.scans:iterations_one_by_one": _call_iterations,
    "dynamo_lite.program.modules.taken_sides:taken_side": _call_taken_side,
    "dynamo_lite.program.modules.taken_sides:taken_side_by_data": _call_taken_side,
    "torch._functorch.predispatch:lazy_load_decompositions": _call_outside,
    "torch._higher_order_ops.invoke_subgraph:invoke_subgraph_placeholder": call_region,
}


def callables() -> dict[Any, Any]:
    """Return callable → its rule, for the modules loaded now."""
    rows: dict[Any, Any] = {
        torch.autograd.grad: call_grad,
        torch.Tensor.register_hook: call_hook,
        torch.Tensor.register_post_accumulate_grad_hook: call_hook,
        _autograd._push_saved_tensors_default_hooks: call_push_saved_hooks,
        _autograd._pop_saved_tensors_default_hooks: call_pop_saved_hooks,
        FunctionMeta.__init__: _call_outside,  # it numbers the classes that it makes
        function_apply(): call_function,
    }
    for path, rule in _OPERATORS.items():
        module, _, name = path.partition(":")
        if module in sys.modules:
            rows[vars(getattr(sys.modules[module], name))["__call__"]] = rule
    for path, rule in _FUNCTIONS.items():
        module, _, name = path.partition(":")
        if module in sys.modules:
            rows[getattr(sys.modules[module], name)] = rule
    return rows


def table() -> dict[int, Any]:
    """Return the rules for the modules loaded now, by id."""
    return {id(fn): rule for fn, rule in callables().items()}
