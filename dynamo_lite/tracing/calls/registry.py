"""Calls that the tracer answers itself: callable → rule.

A rule is `(tracer, fn, args, kwargs) -> value or NOT_HANDLED`. The table is keyed by id(callable), since a callable of
the program may have a `__hash__` of its own; the callables in it live as long as the process.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import sys
from collections.abc import Callable
from operator import is_not
from types import GetSetDescriptorType
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.fakes import fake_attributes
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import _C
from dynamo_lite.tracing import assemble
from dynamo_lite.tracing.calls import annotations as marked
from dynamo_lite.tracing.calls import marked_constructors
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.feature import NamedRules
from dynamo_lite.tracing.heap import lifetimes, raised_errors
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy import compiling_flags, skipped_calls
from dynamo_lite.tracing.policy.named_callables import loaded
from dynamo_lite.tracing.strings.deferred_str import UnreadText
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, class_of
from dynamo_lite.tracing.tensors import autograd_nodes, methods, shared_memory, subclass_constructors, type_queries
from dynamo_lite.tracing.tensors.attributes import call_dir, call_getter
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_array, is_fake, is_tensor


def _skip(name: str) -> Step:
    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        tracer.note(f"{name} was skipped")
        return None

    return rule


def _graph_break(id: str, libraries: bool = False) -> Callable[[str], Step]:
    """Refuse the call; one that a library makes for its own ends only if `libraries`."""

    def for_name(name: str) -> Step:
        def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
            if tracer.in_library() and not libraries:
                return NOT_HANDLED
            tracer.refuse(id, function=name, name=name, what=f"{name}()")

        return rule

    return for_name


def _true(name: str) -> Step:
    """Return the rule for a query whether this is a trace: yes. The program's reaction may differ from eager."""
    note = f"the program asks {name.replace(':', '.')}(), which is true during export: eager may go another way"

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        if not tracer.sees_python and marked_constructors.is_export_query():
            return False
        if tracer.in_library():
            return compiling_flags.compiling(tracer)
        tracer.note(note)
        return True

    return rule


def call_type(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """type(x): torch.Tensor for a FakeTensor, int for a SymInt."""
    if len(args) == 1 and not kwargs and (is_fake(args[0]) or type(args[0]) in SYMBOLIC):
        type_queries.type_of(tracer, args[0])
        return real_type(args[0])
    if len(args) == 1 and is_array(args[0]):
        return args[0].__class__
    if len(args) == 1 and issubclass(type(args[0]), Unrecordable):
        return class_of(args[0])
    return str if len(args) == 1 and issubclass(type(args[0]), UnreadText) else NOT_HANDLED


def call_import(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Run an import natively and outside of the trace: objects that a module makes at import outlive it."""
    if _is_loaded(*args, **kwargs):
        return run_native(fn, args, kwargs)
    if not tracer.in_library():
        for name in _imported(*args, **kwargs):
            tracer.note(f"the module {name} is imported; the import stays")
    with tracer.suspended():
        return run_native(fn, args, kwargs)


def _is_loaded(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: Any = 0) -> bool:
    """Whether an import only looks up loaded modules. (`globals` is the package name for import_module.)"""
    module = sys.modules.get(name)
    if module is None or level or isinstance(globals, str):
        return False
    return all(isinstance(item, str) and item in module.__dict__ for item in fromlist or ())


def _imported(name: Any, globals: Any = None, locals: Any = None, fromlist: Any = (), level: Any = 0) -> list[str]:
    """Return the modules that an import needs and that are not loaded, by their full names."""
    if isinstance(globals, str):
        name, level, package = str(name).lstrip("."), len(name) - len(name.lstrip(".")), globals
    else:
        package = (globals or {}).get("__package__") or ""
    if level:
        package = package.rsplit(".", level - 1)[0] if level > 1 else package
        name = f"{package}.{name}" if name and package else name or package
    module = sys.modules.get(name)
    if module is None:
        return [str(name)]
    return [f"{name}.{item}" for item in fromlist or () if isinstance(item, str) and item not in module.__dict__]


def call_copy(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """copy.copy(tensor): another tensor on the same memory, which a fake tensor's own protocol cannot make."""
    if not args or not is_tensor(args[0]):
        return NOT_HANDLED
    made = args[0].detach().requires_grad_(args[0].requires_grad)
    vars(made).update(fake_attributes.of_the_user(args[0]))
    return made


def call_automatic_container(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """The program's pytree functions meet a class that only an export has registered, as a container."""
    tracer.refuse("registered-container", name=type(args[0]).__qualname__)


def _functions() -> dict[int, Step]:
    rows: dict[int, Step] = {
        id(type): call_type,
        id(type.__call__): lambda tracer, fn, args, kwargs: (
            call_type(tracer, type, args[1:], kwargs) if args[:1] == (type,) else NOT_HANDLED
        ),
        id(builtins.dir): call_dir,
        id(GetSetDescriptorType.__get__): call_getter,
        id(builtins.__import__): call_import,
        id(importlib.import_module): call_import,
        id(copy.copy): call_copy,
        id(torch.Tensor.__deepcopy__): autograd_nodes.call_deep_copy,
        id(torch.utils.swap_tensors): _graph_break("tensor-data-assigned", libraries=True)("torch.utils.swap_tensors"),
    }
    for cls in (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer):
        rows[id(cls)] = _graph_break("tensor-subclass", libraries=True)(cls.__qualname__)
    for name in ("_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic"):
        rows[id(getattr(_C, name))] = type_queries.call_has_torch_function
    return raised_errors.RULES | rows


_NAMED: tuple[NamedRules, ...] = (
    NamedRules(skipped_calls.SKIPPED, _skip),
    NamedRules(skipped_calls.BACKGROUND, _graph_break("background-code", libraries=True)),
    NamedRules(skipped_calls.PROCESS_STATE, _graph_break("process-state", libraries=True)),
    NamedRules(skipped_calls.OUTSIDE_WORLD, _graph_break("outside-world")),
    NamedRules(skipped_calls.READS_DATA, _graph_break("data-dependent-value")),
    NamedRules(skipped_calls.READS_FUNCTION_MODES, lambda name: type_queries.call_mode_query),
    NamedRules(skipped_calls.READS_MODES, _graph_break("process-state")),
    NamedRules(skipped_calls.CALLS_ON_DATA, _graph_break("data-dependent-value", libraries=True)),
    NamedRules(skipped_calls.EXCHANGES_MEMORY, lambda name: shared_memory.call_exchange),
    NamedRules(skipped_calls.HIGHER_ORDER, _graph_break("higher-order-operator")),
    NamedRules(skipped_calls.AUTOMATIC_CONTAINERS, lambda name: call_automatic_container),
    NamedRules(skipped_calls.NESTED, lambda name: _graph_break("tensor-subclass", libraries=True)("NestedTensor")),
    NamedRules(skipped_calls.DISPATCH_MODES, _graph_break("dispatch-mode")),
    NamedRules(skipped_calls.TRUE_WHILE_TRACING, _true),
)
"""The rules of callables that are known by name; the later of two rows counts."""
_made: tuple[list[dict[int, str]], dict[int, Step]] = ([], {})
"""The last result of `_of_names`: the callables, and their rules."""


def _of_names() -> dict[int, Step]:
    """Return the rules of `_NAMED` for loaded modules, made once for the same callables."""
    global _made
    named = (*_NAMED, *assemble.assembly().named)
    found = [loaded(row.names) for row in named]
    if len(found) != len(_made[0]) or any(map(is_not, found, _made[0])):
        rows: dict[int, Step] = {}
        for known, row in zip(found, named):
            rows |= {key: row.rule(name) for key, name in known.items()}
        _made = found, rows
    return dict(_made[1])


def table() -> dict[int, Step]:
    """id(callable) → rule, for everything that is loaded now."""
    rows = _of_names()
    rows |= _functions()
    for part in (methods, subclass_constructors, lifetimes, marked):  # a mark of the user's replaces the ones before
        rows |= part.table()
    return assemble.assembly().rules(rows)


def outside_export(rows: dict[int, Any]) -> dict[int, Any]:
    """Return the rules for code that each call of the program runs as well: taking arguments apart."""
    return rows | {key: _false(name) for key, name in loaded(skipped_calls.TRUE_WHILE_TRACING).items()}


def _false(name: str) -> Step:
    return lambda tracer, fn, args, kwargs: False
