"""Calls that the tracer answers itself: callable → rule.

A rule is `(tracer, fn, args, kwargs) -> value or NOT_HANDLED`. The table is keyed by id(callable), since a callable of
the program may have a `__hash__` of its own; the callables in it live as long as the process.
"""

from __future__ import annotations

import _random
import builtins
import contextvars
import copy
import gc
import importlib
import io
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from types import GetSetDescriptorType
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.fakes import stand_in_names, subclasses, wrapper_subclasses
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import _C
from dynamo_lite.torch_internals._torch_tensors import TensorBase, _make_subclass, _make_wrapper_subclass
from dynamo_lite.tracing import hidden_frames, module_attributes
from dynamo_lite.tracing.calls import annotations as marked
from dynamo_lite.tracing.calls import autocast, marked_constructors, native_calls, pickles, torchscript
from dynamo_lite.tracing.calls.context_values import ContextValues
from dynamo_lite.tracing.calls.distributed import table as of_distributed
from dynamo_lite.tracing.calls.lru_cache import LruCaches, LruCacheWrapper
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.heap import lifetimes
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.higher_order import dual_numbers
from dynamo_lite.tracing.higher_order import table as higher_order
from dynamo_lite.tracing.interfaces import Step, Trace
from dynamo_lite.tracing.policy import compiling_flags, skipped_calls
from dynamo_lite.tracing.policy.named_callables import loaded
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.tracing.sizes import builtin_calls, dict_keys, native_arguments, numpy_functions, runtime_values
from dynamo_lite.tracing.strings import format_fields, log_calls
from dynamo_lite.tracing.strings.deferred_str import UnreadText
from dynamo_lite.tracing.strings.output import call_catch_warnings, call_print, call_print_exception, call_warn
from dynamo_lite.tracing.tensors import (
    autograd_nodes,
    constructors,
    hashing,
    numpy_arrays,
    numpy_rules,
    seeded_generators,
    shared_memory,
    toggled_flags,
    type_queries,
)
from dynamo_lite.tracing.tensors.attributes import TensorWrites, call_dir, call_getter, check_around
from dynamo_lite.tracing.tensors.seeded_generators import SeededGenerators
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, concrete, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor, is_wrapped


def _from_table(names: tuple[str, ...], rule: Callable[[str], Step]) -> dict[int, Step]:
    return {key: rule(name) for key, name in loaded(names).items()}


def _skip(name: str) -> Step:
    def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
        tracer.note(f"{name} was skipped")
        return None

    return rule


def _unrecordable(name: str) -> Step:
    def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
        if tracer.in_library() or tracer.own(SeededGenerators).uses(args):
            return NOT_HANDLED
        return tracer.unrecordable(name)

    return rule


def _seeded(name: str) -> Step:
    def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
        has_seed = any(value is not None for value in (*args, *kwargs.values()))
        if has_seed or tracer.in_library():
            return seeded_generators.made(tracer, fn, args, kwargs)
        return tracer.unrecordable(name)

    return rule


def _refusal(id: str, libraries: bool = False) -> Callable[[str], Step]:
    """Refuse the call; one that a library makes for its own ends only if `libraries`."""

    def for_name(name: str) -> Step:
        def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
            if tracer.in_library() and not libraries:
                return NOT_HANDLED
            if id == _RANDOM and fn in _DRAWS_IN_PYTHON and tracer.own(SeededGenerators).uses(args):
                return NOT_HANDLED
            tracer.refuse(id, function=name, name=name, what=f"{name}()")

        return rule

    return for_name


def _of_generator(name: str) -> Step:
    """A method of a torch.Generator. One that this run has made is its own; operators refuse to be given it."""

    of_others = _unrecordable(name) if name in _TELLS_STATE else _refusal("global-rng")(name)

    def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
        if not args or tracer.writes.is_old(args[0]):
            return of_others(tracer, fn, args, kwargs)
        if name == _ASKS_THE_SYSTEM:
            return tracer.refuse("unrecordable-value", function=name)
        tracer.on_hidden_change(args[0])
        return run_native(fn, tuple(map(concrete, args)), {name: concrete(value) for name, value in kwargs.items()})

    return rule


_RANDOM = "global-rng"
_DRAWS_IN_PYTHON: tuple[Any, ...] = (random.Random.shuffle,)
"""Change a generator and what they are given by code that is interpreted."""
_ASKS_THE_SYSTEM = "torch._C.Generator.seed"
_TELLS_STATE = frozenset({"torch._C.Generator.get_state", "torch._C.Generator.initial_seed"})


def _true(name: str) -> Step:
    """The program asks whether this is a trace: yes. What it does because of that may not be what it does in eager."""
    note = f"the program asks {name.replace(':', '.')}(), which is true during export: eager may go another way"

    def rule(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
        if not tracer.sees_python and marked_constructors.is_export_query():
            return False
        if tracer.in_library():
            return compiling_flags.compiling(tracer)
        tracer.note(note)
        return True

    return rule


def call_type(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """type(x): a FakeTensor says torch.Tensor, a SymInt int."""
    if len(args) == 1 and not kwargs and (is_fake(args[0]) or type(args[0]) in SYMBOLIC):
        type_queries.type_of(tracer, args[0])
        return real_type(args[0])
    if len(args) == 1 and numpy_arrays.is_array(args[0]):
        return args[0].__class__
    return str if len(args) == 1 and type(args[0]) is UnreadText else NOT_HANDLED


def call_text_reader(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """str.join(separator, parts) and the like: the parts are made first, and looked at. C reads what they say."""
    if len(args) != 2 or kwargs or type(args[1]) in (list, tuple, str) or not hasattr(type(args[1]), "__iter__"):
        return NOT_HANDLED
    return tracer.vm.call(fn, (args[0], tracer.vm.call(list, (args[1],))))


def call_module(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """nn.Module.__call__: keeps the module stack; without hooks a call is `forward` (saves some 60 instructions)."""
    module, vm = args[0], tracer.vm

    def run() -> Any:
        if whole:
            return vm.interpret_function(fn, args, kwargs)
        if _has_hooks(module):
            return vm.call(nn.Module._call_impl, args, kwargs)
        tracer.reads.read("hooks", module)
        return vm.call(datamodel.getattr_(vm, module, "forward"), args[1:], kwargs)

    whole = hidden_frames.are_interpreted(tracer)
    with tracer.modules.entered(module), tracer.own(hidden_frames.ModuleCalls):
        signatures = tracer.modules.signatures
        return run() if signatures is None else signatures.call(tracer.modules.called, args[1:], kwargs, run)


def _has_hooks(module: nn.Module) -> bool:
    everywhere = nn.modules.module
    return bool(
        module._backward_hooks
        or module._backward_pre_hooks
        or module._forward_hooks
        or module._forward_pre_hooks
        or everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_forward_pre_hooks
    )


def call_assert(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch._assert(condition, message) of a tensor: each call of the program checks it, as torch.export has it."""
    condition, *rest = (*args, *kwargs.values())
    if set(kwargs) - {"message"} or len(rest) != 1 or not is_tensor(condition) or condition.numel() != 1:
        return NOT_HANDLED
    if condition.dim():
        condition = condition.reshape(())
    return tracer.vm.call(torch._assert_async, (condition, str(rest[0])), {})


def call_checkpoint(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch.utils.checkpoint.checkpoint(function, *args): the program is that of function(*args)."""
    if not args:
        return NOT_HANDLED
    own = (
        *("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop"),
        "respect_saved_tensors_hooks",  # since torch 2.14
    )
    others = {k: v for k, v in kwargs.items() if k not in own}
    tracer.note("torch.utils.checkpoint was captured as a plain call")
    tensors = [arg for arg in args[1:] if is_tensor(arg)]
    # The reentrant one is an autograd.Function, whose results require grad only if a tensor that it is given does.
    if kwargs.get("use_reentrant") is False or not torch.is_grad_enabled():
        return tracer.vm.call(args[0], args[1:], others)
    if others:
        return NOT_HANDLED  # an error in eager
    if any(autograd_nodes.requires_grad(tracer, tensor) for tensor in tensors):
        return tracer.vm.call(args[0], args[1:], {})
    with torch.no_grad():
        return tracer.vm.call(args[0], args[1:], {})


def call_cache_statistics(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """cache_info() and cache_clear() of a cache from outside, which a trace does not fill."""
    if id(args[0]) in tracer.own(LruCaches).made:
        return NOT_HANDLED
    tracer.refuse("outside-object", what=f"{fn.__name__}() of the cache of {args[0].__name__}")


def call_import(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """An import runs natively and outside of the trace: what a module makes at import outlives it."""
    if _is_loaded(*args, **kwargs):
        return run_native(fn, args, kwargs)
    if args and not tracer.in_library():
        tracer.note(f"the module {args[0]} is imported; the import stays")
    with tracer.outside():
        return run_native(fn, args, kwargs)


def _is_loaded(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: Any = 0) -> bool:
    """Whether an import only looks up what is there. (`globals` is the package name for import_module.)"""
    module = sys.modules.get(name)
    if module is None or level or isinstance(globals, str):
        return False
    return all(isinstance(item, str) and item in module.__dict__ for item in fromlist or ())


def call_pop(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """set.pop(s): a set remembers where it took the last one from, which can be neither read nor put back."""
    if args and isinstance(args[0], set):
        hashing.check_order(tracer, args[0])
        if len(args[0]) > 1 and tracer.writes.is_old(args[0]):
            tracer.refuse("outside-object", what="pop() of a set")
    return NOT_HANDLED


def call_context_var(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """ContextVar.set: undone at the end of the trace, which must find the variable as it was."""
    variable = args[0]
    if tracer.writes.is_old(variable):
        tracer.own(ContextValues).before.setdefault(variable, variable.get(MISSING))
    else:
        tracer.on_hidden_change(variable)
    token = run_native(fn, args, kwargs)

    def undo() -> None:
        try:
            variable.reset(token)
        except (RuntimeError, ValueError):
            return  # the program used the token itself, or set the variable in a context of its own

    tracer.journal.on_rollback(undo)
    return token


def call_requires_grad(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.requires_grad_: no operator. On a tensor from outside it is a change that stays."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    if is_tensor(tensor) and not is_wrapped(tensor) and wanted is (not tensor.requires_grad):
        if not is_fake(tensor) or tracer.recorder.is_input(tensor):
            if toggled_flags.toggle(tracer, tensor):
                return NOT_HANDLED
            tracer.refuse("tensor-attribute", name="requires_grad")
        check_around(tracer, tensor, "sets requires_grad of a tensor")
        writes = tracer.own(TensorWrites)
        writes.made_leaf = writes.made_leaf or tracer.mark()
    return NOT_HANDLED


def call_is_view(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor._is_view: autograd does not know that a result from memory is one (capture/fakes/static_cache.py)."""
    if not is_tensor(args[0]) or tracer.in_library():
        return NOT_HANDLED
    number = tracer.recorder.input_number(args[0])
    if number is not None:
        return autograd_nodes.is_view(tracer, number)
    return True if "_dynamo_lite_base" in vars(args[0]) else NOT_HANDLED


def call_as_subclass(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.as_subclass: a stand-in is of a subclass already."""
    cls = args[1] if len(args) > 1 else kwargs.get("cls")
    tracer.refuse("tensor-subclass", name=getattr(cls, "__qualname__", str(cls)))


def call_new_subclass(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.__new__ and _make_subclass: C makes the memory as a stand-in, which cannot be of the class as well."""
    if args and isinstance(args[0], type) and subclasses.is_subclass(args[0]):
        tracer.refuse("tensor-subclass", name=args[0].__qualname__)
    if numpy_rules.is_awake(tracer):
        numpy_rules.refuse_unknown(tracer, fn, args, kwargs)
    return native_calls.before_call(tracer, fn, args, kwargs)


def call_new_parameter(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """nn.Parameter.__new__ and nn.Buffer.__new__: a stand-in is a parameter by a mark, of no class of the user's."""
    cls = args[0] if args else None
    if isinstance(cls, type) and subclasses.is_subclass(cls):
        tracer.refuse("tensor-subclass", name=cls.__qualname__)
    return NOT_HANDLED


def call_make_wrapper(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor._make_wrapper_subclass: a tensor around others. Its class may give it attributes
    (capture/fakes/wrapper_subclasses.py)."""
    made = run_native(fn, args, kwargs)
    if not wrapper_subclasses.is_wrapper(made):
        tracer.refuse("tensor-subclass", name=type(made).__qualname__)
    tracer.own(TensorWrites).wrappers[id(made)] = made
    return made


def call_copy(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """copy.copy(tensor): another tensor on the same memory, which a stand-in's own protocol cannot make."""
    if not args or not is_tensor(args[0]):
        return NOT_HANDLED
    made = args[0].detach().requires_grad_(args[0].requires_grad)
    vars(made).update(stand_in_names.of_the_user(args[0]))
    return made


def call_subclasses(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """cls.__subclasses__(): which classes there are now. One that the call itself makes is there until a collection."""
    found = run_native(fn, args, kwargs)
    if tracer.in_library():
        return found
    tracer.heap.mark()
    collected = tracer.own(lifetimes.Lifetimes).collected  # which the run's own references outlive
    if any(map(tracer.heap.is_young, found)) and (collected or not tracer.heap.is_young(args[0])):
        tracer.refuse("unrecordable-value", function="type.__subclasses__")
    tracer.note(f"{args[0].__qualname__}.__subclasses__() was taken as it is at export")
    return found


def call_collect(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """gc.collect(): how many objects it finds depends on the rest of the process."""
    found = run_native(fn, args, kwargs)
    tracer.own(lifetimes.Lifetimes).collected = True
    return found if tracer.in_library() else tracer.unrecordable("gc.collect")


def call_automatic_container(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """The program's pytree functions meet a class that only an export has registered, as a container."""
    tracer.refuse("registered-container", name=type(args[0]).__qualname__)


def plan_dynamo_wrapper(tracer: Trace, fn: Any) -> Step | None:
    """The step of a call plan for a function that torch.compile or torch.compiler.disable wraps another in."""
    module = sys.modules.get("torch._dynamo.eval_frame")
    return call_dynamo_wrapper if module is not None and fn.__globals__ is module.__dict__ else None


def call_dynamo_wrapper(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A function that torch.compile wrapped: the program is the function's own. torch.compiler.disable: refused."""
    original = fn.__dict__.get("_torchdynamo_orig_callable")
    if original is None:
        return NOT_HANDLED
    author = str(getattr(original, "__module__", ""))
    if fn.__dict__.get("_torchdynamo_disable") and (is_trusted_module(author) or author.partition(".")[0] == "torch"):
        return tracer.vm.call(original, args, kwargs)  # torch's own: disabled for TorchDynamo, which is not here
    name = getattr(original, "__qualname__", str(original))
    if fn.__dict__.get("_torchdynamo_disable") and fn.__dict__.get("_torchdynamo_disable_recursive", True):
        tracer.refuse("compiler-disabled", function=name)
    tracer.note(f"torch.compile or torch.compiler.disable around {name} was ignored")
    return tracer.vm.call(original, args, kwargs)


def call_compiled(tracer: Trace, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A module that torch.compile wrapped: the module itself is what is exported."""
    return tracer.vm.call(args[0]._orig_mod, args[1:], kwargs)


def _functions() -> dict[int, Step]:
    rows: dict[int, Step] = {
        id(type): call_type,
        id(type.__call__): lambda tracer, fn, args, kwargs: (
            call_type(tracer, type, args[1:], kwargs) if args[:1] == (type,) else NOT_HANDLED
        ),
        id(builtins.id): hashing.call_id,
        **dict.fromkeys(map(id, (builtins.hash, object.__hash__, torch.Tensor.__hash__)), hashing.call_hash),
        id(builtins.print): call_print,
        id(builtins.dir): call_dir,
        id(GetSetDescriptorType.__get__): call_getter,
        id(traceback.print_exception): call_print_exception,
        id(warnings.catch_warnings.__enter__): call_catch_warnings,
        id(gc.collect): call_collect,
        id(str.join): call_text_reader,
        id(str.format): format_fields.call_format,
        id(str.format_map): format_fields.call_format,
        id(io.StringIO.writelines): call_text_reader,
        id(builtins.__import__): call_import,
        id(importlib.import_module): call_import,
        id(copy.copy): call_copy,
        id(torch._assert): call_assert,
        id(TensorBase.as_subclass): call_as_subclass,
        id(_make_wrapper_subclass): call_make_wrapper,
        id(_make_subclass): call_new_subclass,
        id(torch.Tensor.__new__): call_new_subclass,
        id(nn.Parameter.__new__): call_new_parameter,
        id(nn.Buffer.__new__): call_new_parameter,
        id(nn.Module._wrapped_call_impl): call_module,
        id(set.pop): call_pop,
        id(contextvars.ContextVar.__dict__["set"]): call_context_var,
        id(TensorBase.requires_grad_): call_requires_grad,
        id(TensorBase._is_view): call_is_view,
        id(torch.Tensor.__deepcopy__): autograd_nodes.call_deep_copy,
        id(type.__dict__["__subclasses__"]): call_subclasses,
        **pickles.table(),
        id(torch.utils.swap_tensors): _refusal("tensor-data-assigned", libraries=True)("torch.utils.swap_tensors"),
    }
    for cls in (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer):
        rows[id(cls)] = _refusal("tensor-subclass", libraries=True)(cls.__qualname__)
    for name in ("_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic"):
        rows[id(getattr(_C, name))] = type_queries.call_has_torch_function
    rows |= {id(fn): lifetimes.call_weak_reference for fn in lifetimes.callables()}
    for name in ("cache_info", "cache_clear"):
        rows[id(LruCacheWrapper.__dict__[name])] = call_cache_statistics
    checkpoint = sys.modules.get("torch.utils.checkpoint")
    if checkpoint is not None:
        rows[id(checkpoint.checkpoint)] = call_checkpoint
    frames = sys.modules.get("torch._dynamo.eval_frame")
    if frames is not None:
        rows[id(frames.OptimizedModule.__call__)] = call_compiled
    return hidden_frames.rules() | rows


def table() -> dict[int, Step]:
    """id(callable) → rule, for everything that is loaded now."""
    rows = _from_table(skipped_calls.SKIPPED, _skip)
    rows |= _from_table(skipped_calls.LOGGING, log_calls.rule)
    rows |= _from_table(skipped_calls.WARNINGS, lambda name: call_warn)
    rows |= _from_table(skipped_calls.UNRECORDABLE, _unrecordable)
    rows |= _from_table(skipped_calls.SEEDED, _seeded)
    rows |= _from_table(skipped_calls.GLOBAL_RNG, _refusal(_RANDOM))
    rows[id(random.Random.seed)] = seeded_generators.seeding(rows[id(random.Random.seed)])
    rows[id(_random.Random.seed)] = seeded_generators.seeded_in_c
    rows |= _from_table(skipped_calls.OF_GENERATORS, _of_generator)
    rows |= _from_table(skipped_calls.BACKGROUND, _refusal("background-code", libraries=True))
    rows |= _from_table(skipped_calls.PROCESS_STATE, _refusal("process-state", libraries=True))
    rows |= _from_table(skipped_calls.OUTSIDE_WORLD, _refusal("outside-world"))
    rows |= _from_table(skipped_calls.READS_DATA, _refusal("data-dependent-value"))
    rows |= _from_table(skipped_calls.READS_MODES, _refusal("process-state"))
    rows |= _from_table(skipped_calls.CALLS_ON_DATA, _refusal("data-dependent-value", libraries=True))
    rows |= _from_table(skipped_calls.EXCHANGES_MEMORY, lambda name: shared_memory.call_exchange)
    rows |= _from_table(skipped_calls.HIGHER_ORDER, _refusal("higher-order-operator"))
    rows |= dual_numbers.table()
    rows |= _from_table(skipped_calls.AUTOMATIC_CONTAINERS, lambda name: call_automatic_container)
    rows |= _from_table(skipped_calls.NESTED, lambda name: _refusal("tensor-subclass", libraries=True)("NestedTensor"))
    rows |= _from_table(skipped_calls.DISPATCH_MODES, _refusal("dispatch-mode"))
    rows |= _from_table(skipped_calls.BACKWARD, _refusal("backward-in-forward"))
    rows |= _from_table(skipped_calls.TRUE_WHILE_TRACING, _true)
    rows |= _functions()
    rows |= of_distributed()
    for part in (
        autocast,
        marked,
        module_attributes,
        shared_memory,
        higher_order,
        builtin_calls,
        native_arguments,
        dict_keys,
        runtime_values,
        torchscript,
        numpy_functions,
    ):
        rows |= part.table()
    rows |= constructors.table(rows)
    return rows | numpy_rules.table(rows)


def outside_export(rows: dict[int, Any]) -> dict[int, Any]:
    """The rules for what each call of the program does as well, which is no export: its arguments are taken apart."""
    return rows | _from_table(skipped_calls.TRUE_WHILE_TRACING, _false)


def _false(name: str) -> Step:
    return lambda tracer, fn, args, kwargs: False
