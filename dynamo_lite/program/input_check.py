"""Checks the arguments of a call against the program's inputs, and reports differences."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import torch
from torch.export import ExportedProgram

from dynamo_lite.errors import InputMismatch, StructureMismatch
from dynamo_lite.program._torch import jit_trace_paused, never_compiled, reorder_kwargs
from dynamo_lite.program.decomposition.shared_inputs import Changed
from dynamo_lite.program.shapes.size_check import SizeCheck, ambiguous, path_in_words
from dynamo_lite.program.shapes.value_guards import is_on_a_value
from dynamo_lite.program.trees import wrapper_inputs
from dynamo_lite.program.trees.container_context import ObjectContext
from dynamo_lite.program.trees.container_state import StateRead
from dynamo_lite.program.trees.paths import is_foreign, parts
from dynamo_lite.program.trees.quick_fit import QuickFit, quick_fit
from dynamo_lite.program.trees.twins import Path, check_apart
from dynamo_lite.program.trees.user_inputs import user_values
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass
class InputCheck:
    """`expected[i]` is the i-th flat input at the export: a FakeTensor or a constant.

    `sizes` checks sizes that vary, and the guards; None for a static program. Not `is_checked_by_torch`: the inputs'
    names are such that torch cannot write checks of its own. `dtypes`: the dtypes accepted in place of that of the
    export, once the module was converted; None: any. `state`: the program's reads of containers beside their leaves.
    `apart`: as of the program. `without_hooks`: the same with the names of the inputs. `changed`: the inputs that a
    decomposed program changes.
    """

    in_spec: pytree.TreeSpec
    arg_names: Sequence[str]
    expected: list[Any]
    sizes: SizeCheck | None = None
    is_checked_by_torch: bool = True
    key_orders: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = ()
    dtypes: Mapping[torch.dtype, torch.dtype] | None = field(default_factory=dict)
    state: tuple[StateRead, ...] = ()
    must_not_alias: tuple[tuple[Path, Path], ...] | None = None
    changed: Changed | None = None
    without_hooks: tuple[tuple[int, str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, program: ExportedProgram, guards: bool = False) -> InputCheck:
        """The check for what `program` was exported with. guards: all of them, whether torch checks them too or not."""
        expected = user_values(program)
        signature = program.module_call_graph[0].signature
        assert signature is not None
        names = signature.forward_arg_names or []
        sizes = None
        paths: list[pytree.KeyPath] = program.input_paths  # type: ignore[attr-defined]
        is_checked_by_torch = not ambiguous(paths) and not any(map(_breaks_text, expected))
        guards = guards or any(map(is_on_a_value, program._guards_code))
        if program.range_constraints or guards or not is_checked_by_torch:
            sizes = SizeCheck(expected, paths, program.range_constraints, program._guards_code)
        orders = getattr(program, "key_orders", ())
        state = getattr(program, "state_reads", ())
        apart = getattr(program, "must_not_alias", None)
        check = cls(
            signature.in_spec, names, expected, sizes, is_checked_by_torch, orders, state=state, must_not_alias=apart
        )
        check.changed = Changed.of(program)
        hooks: Mapping[int, tuple[str, ...]] = getattr(program, "without_hooks", {})
        check.without_hooks = tuple((i, path_in_words(paths[i]), attributes) for i, attributes in hooks.items())
        return check

    def __deepcopy__(self, memo: dict[int, Any]) -> InputCheck:
        """Itself: it never changes, and FakeTensors of symbolic sizes have no copies (`copy.deepcopy(ep.module())`)."""
        return self

    @never_compiled
    def hook(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A forward pre-hook. Where torch.compile compiles its call too, the assertions in the graph check."""
        if not getattr(module, "validate_inputs", True) or torch.compiler.is_compiling():
            return
        if torch.jit.is_tracing():
            with jit_trace_paused():
                self.check(args, kwargs, module)
        else:
            self.check(args, kwargs, module)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any], module: Any = None) -> None:
        """Raises InputMismatch naming the input, the expected and the given value. module: the owner of the state."""
        if self.must_not_alias is not None:
            check_apart((args, kwargs), self.must_not_alias, self.arg_names)
        leaves = self._quick(args, kwargs) if not self.key_orders else None
        if leaves is not None:
            self._check_leaves(leaves, module)
            return
        self._check_names(args, kwargs)
        for path, keys in self.key_orders:
            self._check_order(path, keys, (args, kwargs))
        given_tree = (tuple(args), reorder_kwargs(kwargs, self.in_spec))
        self._compare("", given_tree, self.in_spec, iter(self.expected))
        needed = self.sizes is not None or self.state or self.changed is not None or self.without_hooks
        leaves = pytree.tree_leaves(given_tree) if needed else []
        self._check_leaves(leaves, module)
        for read in self.state:
            read.check(given_tree, leaves)

    def _check_leaves(self, leaves: Sequence[Any], module: Any) -> None:
        if self.sizes is not None:
            self.sizes.check(leaves)
        if self.changed is not None:
            self.changed.check(leaves, module)
        for number, name, attributes in self.without_hooks:
            if any(getattr(leaves[number], attribute, None) for attribute in attributes):
                raise InputMismatch(
                    f"Input {name} has a hook on its gradient. The program computes that gradient itself, and does not "
                    "call hooks, as eager does: remove the hook, or give the program a tensor without it (detach())."
                )

    @cached_property
    def _quick(self) -> QuickFit:
        return quick_fit(self.in_spec, self.expected, self.dtypes is not None)

    def _check_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        positional, keywords = self.in_spec.children()
        wanted = list(keywords.context or [])
        if len(args) != positional.num_children:
            raise StructureMismatch(
                f"The program takes {positional.num_children} positional arguments "
                f"({', '.join(self.arg_names[: positional.num_children])}); {len(args)} were given."
            )
        if set(kwargs) != set(wanted):
            raise StructureMismatch(
                f"The program takes the keyword arguments {sorted(wanted)}; {sorted(kwargs)} were given."
            )

    def _check_order(self, path: tuple[Any, ...], keys: tuple[Any, ...], given: Any) -> None:
        """A dict whose order the program has looked at; one of another structure is for `_compare`."""
        for step in path:
            try:
                given = given[step]
            except (LookupError, TypeError):
                return
        found = [key for key in given if key in keys] if isinstance(given, dict) else []
        if len(found) == len(keys) and found != list(keys):
            what = "The keyword arguments" if path == (1,) else f"The keys of {self._name(path)}"
            raise StructureMismatch(
                f"{what} have to be in the order {', '.join(map(str, keys))}, which the program has looked at; "
                f"given {', '.join(map(str, found))}."
            )

    def _name(self, path: tuple[Any, ...]) -> str:
        first = self.arg_names[path[1]] if path[0] == 0 and path[1] < len(self.arg_names) else str(path[1])
        return first + "".join(f"[{step!r}]" for step in path[2:])

    def _compare(self, path: str, given: Any, spec: pytree.TreeSpec, expected: Iterator[Any]) -> None:
        """Walks the given value beside the structure to the first difference; `expected` are the leaves to come."""
        if spec.is_leaf():
            self._compare_leaf(path, given, next(expected))
            return
        cls, context = spec.type, spec.context
        if cls is namedtuple:
            cls = context
        if type(given) is not cls:
            raise StructureMismatch(f"Input {path}: expected a {cls.__qualname__}, given {_describe(given)}.")
        keyed, given_context = parts(given)
        given_parts = {pytree.keystr((key,)): child for key, child in keyed}
        names = _names_of(cls, spec, list(given_parts))
        if given_parts.keys() != set(names):
            raise StructureMismatch(
                f"Input {path}: expected a {cls.__qualname__} with {_listed(names)}, "
                f"given one with {_listed([*given_parts])}.{_declared_since(context, given_context)}"
            )
        if (is_foreign(cls) or not issubclass(cls, (dict, tuple, list))) and given_context != context:
            raise StructureMismatch(
                f"Input {path}: expected a {cls.__qualname__} {context!r}, given {given_context!r}."
                + _numbers_hint(context, given_context)
            )
        for name, part in zip(names, spec.children()):
            self._compare(self._step(path, name), given_parts[name], part, expected)

    def _compare_leaf(self, path: str, given: Any, expected: Any) -> None:
        if isinstance(expected, torch.Tensor):
            self._compare_tensor(path, given, expected)
            return
        is_container = type(given) in pytree.SUPPORTED_NODES or pytree.is_namedtuple_instance(given)
        if is_container or not _equal(given, expected):
            wanted = "an int" if isinstance(expected, torch.SymInt) else f"the constant {expected!r}"
            raise InputMismatch(f"Input {path}: expected {wanted}, given {_describe(given)}.")

    def _step(self, path: str, name: str) -> str:
        if path == "":
            return name  # "[0]": args, "[1]": kwargs
        if path == "[0]":
            index = int(name[1:-1])
            return self.arg_names[index] if index < len(self.arg_names) else f"args{name}"
        if path == "[1]":
            return name[2:-2]
        return path + name.rstrip()

    def _compare_tensor(self, path: str, given: Any, expected: torch.Tensor) -> None:
        wanted = f"a tensor of shape {_shape(expected)} and dtype {expected.dtype}"
        if not isinstance(given, torch.Tensor):
            raise InputMismatch(f"Input {path}: expected {wanted}, given {_describe(given)}.")
        fits = len(given.shape) == len(expected.shape) and all(
            isinstance(size, torch.SymInt) or isinstance(got, torch.SymInt) or got == size
            for got, size in zip(given.shape, expected.shape)
        )
        if not fits or not self._admits(given.dtype, expected.dtype):
            hint = "" if fits else " Sizes are constants unless exported with dynamic_shapes."
            sizes = _wrong_sizes(path, given, expected)
            raise InputMismatch(f"Input {path}: expected {wanted}, given {_describe(given)}.{sizes}{hint}")
        other = wrapper_inputs.difference(given, expected)
        if other is not None:
            raise InputMismatch(f"Input {path}: expected a tensor {other}.")

    def _admits(self, given: torch.dtype, expected: torch.dtype) -> bool:
        return given == expected or self.dtypes is None or self.dtypes.get(expected) == given


def _names_of(cls: Any, spec: pytree.TreeSpec, given: list[str]) -> list[str]:
    """The names of the children of a container. `given` are the names in the given one: they are used if the structure
    has none, and the number is right."""
    context, count = spec.context, spec.num_children
    keys: list[Any]
    if cls in (dict, OrderedDict, defaultdict):
        keys = [pytree.MappingKey(key) for key in (context[1] if cls is defaultdict else context)]
    elif spec.type is namedtuple:
        keys = [pytree.GetAttrKey(name) for name in cls._fields]
    elif isinstance(context, ObjectContext):
        keys = [key.path_entry(context.keys) for key in context.keys]
    elif len(given) == count:
        return given
    else:
        keys = [pytree.SequenceKey(index) for index in range(count)]
    return [pytree.keystr((key,)) for key in keys]


def _equal(given: Any, expected: Any) -> bool:
    if isinstance(expected, torch.SymInt):
        return type(given) is int or isinstance(given, torch.SymInt)
    if isinstance(expected, torch.SymFloat | torch.SymBool):
        return isinstance(given, int | float | torch.SymFloat | torch.SymBool)
    if type(given) is not type(expected):
        return False
    if isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(given)
        return bool(given == expected) and math.copysign(1.0, given) == math.copysign(1.0, expected)
    return bool(given == expected)


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {_shape(value)} and dtype {value.dtype}"
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | str | Enum | torch.dtype | torch.device):
        return f"the {type(value).__name__} {value!r}"
    return f"a {_type(value)}"


def _breaks_text(constant: Any) -> bool:
    """Whether torch, which puts a number or a string into the text of a guard as it is, would write something else."""
    if isinstance(constant, Enum) and isinstance(constant, (int, float, str)):
        return True
    return isinstance(constant, str) and any(mark in constant for mark in "'\"\\\n\r")


def _wrong_sizes(path: str, given: torch.Tensor, expected: torch.Tensor) -> str:
    """` y.shape[0]: expected 8, given 3.` for each constant size that differs."""
    if len(given.shape) != len(expected.shape):
        return f" {path}.dim(): expected {len(expected.shape)}, given {len(given.shape)}."
    sizes = enumerate(zip(given.shape, expected.shape))
    wrong = ((dim, got, size) for dim, (got, size) in sizes if isinstance(size, int) and isinstance(got, int))
    return "".join(f" {path}.shape[{dim}]: expected {size}, given {got}." for dim, got, size in wrong if got != size)


def _numbers_hint(expected: Any, given: Any) -> str:
    """The hint if int attributes differ that could be inputs."""
    if not isinstance(expected, ObjectContext) or not isinstance(given, ObjectContext):
        return ""
    pairs = [(key.name, value, given.rest.get(key)) for key, value in expected.rest.items() if key.kind == "attr"]
    names = [name for name, one, other in pairs if type(one) is type(other) is int and one != other]
    if not names:
        return ""
    said = ", ".join(f"{name!r}: Dim.AUTO" for name in names)
    return f" A number may vary if dynamic_shapes allows it, in the dict for this object: {{{said}}}."


def _declared_since(expected: Any, given: Any) -> str:
    """The hint if a constant of the program has become an input of later ones."""
    if not isinstance(expected, ObjectContext) or not isinstance(given, ObjectContext):
        return ""
    names = [str(key.name) for key in given.keys if type(expected.rest.get(key)) is int]
    if not names:
        return ""
    listed = ", ".join(names)
    return f" A later export has made inputs of the numbers {listed} of this class: export this program again."


def _shape(tensor: torch.Tensor) -> str:
    return "[" + ", ".join(str(size) for size in tensor.shape) + "]"


def _type(value: Any) -> str:
    return type(value).__qualname__


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} parts ({', '.join(names)})" if names else "no parts"
