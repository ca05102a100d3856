"""The front of dynamic shapes: from the user's specification of the inputs to symbols, and after the run to guards.

    call     = read_call(signature, args, kwargs, dynamic_shapes, constraints)
    inputs   = flatten_inputs(signature, call.args, call.kwargs)
    declared = declare_inputs(inputs, call.specs, env)       # symbols, before the run
    settled  = settle(declared, env)                         # guards and ranges, after it; or ConstraintViolation
    call.verify(settled)                                     # AdditionalInputs: the other examples fit too

The language is that of torch.export (torch/export/dynamic_shapes.py, 2.13.0); docs/dynamic_shapes.md describes where
this accepts more than torch does.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program._torch import _IntWrapper
from dynamo_lite.program.shapes.input_dims import InputDimRef, InputDims, InputSource, collect
from dynamo_lite.program.shapes.mark_dynamic import Unbacked
from dynamo_lite.program.shapes.shapes_spec import SpecShapes, SpecSize, SpecSymbols, is_spec, plain
from dynamo_lite.program.shapes.spec_tree import DerivedSpecs, lay_along
from dynamo_lite.program.shapes.suggested_fixes import violation
from dynamo_lite.program.trees.containers import register_containers
from dynamo_lite.program.trees.inputs import FlatInputs, flatten_inputs
from dynamo_lite.program.trees.paths import is_foreign, unflatten
from dynamo_lite.program.trees.varying_numbers import declare_differing, declare_named
from dynamo_lite.symbolic_shapes import Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable, InvalidDims, declare
from dynamo_lite.symbolic_shapes.dims.violations import Solution, Violation, solve
from dynamo_lite.symbolic_shapes.size_guards import codegen
from dynamo_lite.symbolic_shapes.size_guards.codegen import GuardLine
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import DimPolicy, Fresh, TensorPolicy
from dynamo_lite.symbolic_shapes.torch_node.ranges import int_ranges
from dynamo_lite.torch_internals._torch_pytree import pytree


class InvalidDynamicShapes(InvalidArguments):
    """`dynamic_shapes` (or `constraints`) is malformed, or does not fit the example. `problems` has a line for each
    place that is wrong; each names the place, as Python: `dynamic_shapes['x'][0]`."""

    case = "malformed_dynamic_shapes"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(["dynamic_shapes does not fit the inputs:", *(f"  - {p}" for p in problems)]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


# -- before the run --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SpecifiedCall:
    """The arguments of `export`, with the specification in its plain form.

    `args` and `kwargs` are the example call; `specs` a dict, tuple or None; `examples` are the further calls of an
    `AdditionalInputs`.
    """

    signature: inspect.Signature
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    specs: Any
    examples: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = ()

    def verify(self, settled: Settled) -> None:
        """InvalidDynamicShapes if a further example is not admitted by the program."""
        problems = []
        for index, (args, kwargs) in enumerate(self.examples):
            inputs = flatten_inputs(self.signature, args, kwargs)
            failing = settled.failing(inputs)
            if failing is not None:
                problems.append(f"the additional inputs #{index} are not admitted: {failing} does not hold")
        if problems:
            raise InvalidDynamicShapes(problems)


def read_call(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None,
              dynamic_shapes: Any = None, constraints: Any = None) -> SpecifiedCall:
    """Brings `ShapesCollection`, `AdditionalInputs` and the constraints of torch 2.1 into the plain form, and takes
    ints out of torch's `_IntWrapper`. InvalidDynamicShapes if that cannot be done."""
    options = dict(kwargs or {})
    examples: tuple[Any, ...] = ()
    if constraints is not None:
        from dynamo_lite.program.shapes.legacy_constraints import specs_of

        if dynamic_shapes is not None:
            raise InvalidDynamicShapes(["give dynamic_shapes or constraints, not both"])
        dynamic_shapes = specs_of(constraints, signature, args, options)
    elif is_spec(dynamic_shapes):
        dynamic_shapes = plain(dynamic_shapes, signature, args, options)
    elif callable(getattr(dynamic_shapes, "dynamic_shapes", None)):
        examples = tuple((a, dict(k or {})) for a, k in getattr(dynamic_shapes, "_examples", ()))
        for a, k in [(args, options), *examples]:
            register_containers((a, k))
            declare_differing((args, options), (a, k))
        dynamic_shapes = _plain(dynamic_shapes, signature, args, options)
    _declare_numbers(signature, args, options, dynamic_shapes)
    leaves, spec = pytree.tree_flatten((tuple(args), options), is_leaf=lambda value: is_foreign(type(value)))
    unwrapped = [*map(_unwrapped, leaves)]
    if any(one is not other for one, other in zip(leaves, unwrapped)):  # else the caller's own, some twice perhaps
        args, options = unflatten(unwrapped, spec)
    return SpecifiedCall(signature, args, options, dynamic_shapes, examples)


def _declare_numbers(signature: inspect.Signature, args: Sequence[Any], kwargs: dict[str, Any], specs: Any) -> None:
    """Numbers within the arguments that have an entry in the specification are inputs."""
    try:
        given = {**signature.bind_partial(*args).arguments, **kwargs}
    except TypeError:
        return  # the call does not fit, which is reported later
    if isinstance(specs, (list, tuple)):
        specs = dict(zip(given, specs))
    declare_named(given, specs)


def _plain(shapes: Any, signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
    """The specification of a ShapesCollection or AdditionalInputs, by torch's own method."""
    try:
        return DerivedSpecs(shapes.dynamic_shapes(_Callee(signature), args, kwargs), "collection")
    except (ValueError, TypeError, AssertionError, RuntimeError) as error:
        raise InvalidDynamicShapes([f"the {type(shapes).__name__} does not fit: {error}"]) from error


class _Callee:
    """An object with a signature, the only attribute of the module that torch reads."""

    def __init__(self, signature: inspect.Signature) -> None:
        self.__signature__ = signature

    def __call__(self) -> None: ...


def _unwrapped(leaf: Any) -> Any:
    return leaf.val if isinstance(leaf, _IntWrapper) else leaf


@dataclass
class DeclaredInputs:
    """The symbols of one call's inputs.

    Attributes:
        table: the declared dimensions, in the order of `spots`.
        policies: along `inputs.leaves`: a TensorPolicy for a tensor with symbols in its sizes, the expression for an
            int that may vary, None for everything else.
        sources: along `inputs.leaves`: where the program finds the input again, as a torch Source.
    """

    inputs: FlatInputs
    table: DimTable
    policies: list[TensorPolicy | Int | None]
    sources: list[InputSource]
    dims: InputDims
    shared: list[str] = field(default_factory=list)

    @property
    def is_dynamic(self) -> bool:
        return any(policy is not None for policy in self.policies)

    @property
    def spots(self) -> Sequence[InputDimRef]:
        return self.dims.spots


def declare_inputs(inputs: FlatInputs, specs: Any, env: TorchShapeEnv) -> DeclaredInputs:
    """Makes the symbols for a specification.

    specs: the plain form (`read_call`). InvalidDynamicShapes lists everything that is wrong with it.
    """
    tree = lay_along(inputs, specs)
    dims = collect(inputs, tree)
    of_spec = specs if isinstance(specs, SpecShapes) else None
    problems = [*tree.problems, *dims.problems, *(of_spec.problems if of_spec is not None else ())]
    try:
        table = declare(env.core, dims.dims)
    except InvalidDims as error:
        problems += error.problems
    if problems:
        raise InvalidDynamicShapes(problems)
    env.size_like.update(set(table.symbols()) - table.integers())
    sources = [InputSource(path) for path in dims.paths]
    declared = DeclaredInputs(inputs, table, [], sources, dims)
    policies = _Policies(declared, env)
    declared.policies = policies.policies()
    if of_spec is not None:
        policies.of_spec.assume(of_spec.assumptions)
        if policies.of_spec.problems:
            raise InvalidDynamicShapes(policies.of_spec.problems)
    return declared


class _Policies:
    def __init__(self, declared: DeclaredInputs, env: TorchShapeEnv) -> None:
        self.declared, self.env = declared, env
        self.by_shape_id: dict[str, tuple[Int, str]] = {}
        self.of_spec = SpecSymbols(env, declared.shared)

    def policies(self) -> list[TensorPolicy | Int | None]:
        declared = self.declared
        sizes: dict[int, dict[int | None, DimPolicy]] = {}
        for spot, size in zip(declared.spots, declared.table.sizes):
            if size.terms:
                sizes.setdefault(spot.leaf, {})[spot.dim] = size
        # A derived size is an expression over the variables, which are made first.
        derived = [row for row in declared.dims.unbacked.items() if getattr(row[1], "variable", True) is None]
        for (leaf, dim), mark in [*(row for row in declared.dims.unbacked.items() if row not in derived), *derived]:
            if isinstance(mark, SpecSize):
                sizes.setdefault(leaf, {})[dim] = self._described(leaf, dim, mark)
            elif dim is not None:
                sizes.setdefault(leaf, {})[dim] = self._unbacked(leaf, dim, mark)
        return [self._policy(i, sizes.get(i)) for i in range(len(declared.inputs.leaves))]

    def _policy(self, leaf: int, sizes: dict[int | None, DimPolicy] | None) -> TensorPolicy | Int | None:
        if sizes is None:
            return None
        if None in sizes:
            return sizes[None]  # type: ignore[return-value]
        tensor: torch.Tensor = self.declared.inputs.leaves[leaf]
        return TensorPolicy([sizes.get(dim) for dim in range(tensor.dim())], self.declared.sources[leaf])

    def _described(self, leaf: int, dim: int | None, size: SpecSize) -> DimPolicy:
        path, value = self.declared.dims.paths[leaf], self.declared.inputs.leaves[leaf]
        number, source = (value, path) if dim is None else (value.shape[dim], f"{path}.size()[{dim}]")
        if size.variable is not None:
            return self.of_spec.of_variable(size, number, source, dim is not None)
        return self.of_spec.derived(size, number, source)

    def _unbacked(self, leaf: int, dim: int, mark: Unbacked) -> DimPolicy:
        fresh = Fresh(lo=mark.lo, hi=mark.hi, unbacked=True)
        if mark.shape_id is None:
            return fresh
        value, source = self.declared.inputs.leaves[leaf].shape[dim], f"{self.declared.dims.paths[leaf]}.size()[{dim}]"
        if mark.shape_id in self.by_shape_id:
            size, first = self.by_shape_id[mark.shape_id]
            self.declared.shared.append(f"{source} == {first}")
            return size
        size = self.env.input_size(value, fresh, source)
        self.by_shape_id[mark.shape_id] = (size, source)
        return size


# -- after the run -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class SizeReason:
    """Why a condition on sizes is needed: its text is made at its first use."""

    solution: Solution
    line: GuardLine

    def __str__(self) -> str:
        return textwrap.indent(self.solution.explain(self.line), "  ")

    @property
    def brief(self) -> str:
        """The lines and operators, without the derivation."""
        facts = [fact for guard in self.line.guards for fact in self.solution.guard_set.origins(guard)]
        symbol = self.line.symbol
        specs = [str(symbol.origin)] if symbol is not None and symbol.origin is not None else []
        places = dict.fromkeys([*(str(fact.origin) for fact in facts), *specs])
        return "; ".join(places) or "the specs of the dimensions"


@dataclass
class Settled:
    """The program's conditions on its inputs.

    Attributes:
        lines: `guards` with the relations that each states.
        range_constraints: sympy symbol -> torch's ValueRanges, for each symbol that is left.
        replacements: the symbols that equalities eliminate, as sympy expressions in those that are left.
        notes: information for the user: sizes that are static although the specification lets them vary.
    """

    solution: Solution
    lines: list[GuardLine]
    range_constraints: dict[Any, Any]
    replacements: dict[Any, Any]
    notes: list[str]

    @property
    def guards(self) -> list[str]:
        """Python over `L['name']`; tried in order, all are true exactly for the inputs that the program is right for
        (static sizes aside). One that raises ArithmeticError is false. In the form of ExportedProgram._guards_code."""
        return [line.text for line in self.lines]

    def reasons(self) -> dict[str, SizeReason]:
        """Why each of `guards` is needed."""
        return {line.text: SizeReason(self.solution, line) for line in self.lines}

    def failing(self, inputs: FlatInputs) -> str | None:
        """The first guard that does not hold for a call; None if all do."""
        values = (*inputs.args, *inputs.kwargs.values())
        names = {**codegen.namespace(), "L": dict(zip(inputs.arg_names, values))}
        for guard in self.guards:
            try:
                holds = eval(guard, names)
            except (ArithmeticError, LookupError, AttributeError):
                holds = False
            if not holds:
                return guard
        return None


_DEFERRED = ("divisibility", "other")
"""The kinds of violations that no range expresses: conditions that can be left to each call."""


def settle(declared: DeclaredInputs, env: TorchShapeEnv, defers: bool = False) -> Settled:
    """Compares the run's assumptions about sizes with the user's specification of them.

    defers: conditions that no range expresses (`n % 4 == 0`) are checked in each call, whatever was promised.

    Raises ConstraintViolation with every dimension for which the program does not admit the spec, the lines of the
    program that are the reason, and new specs that were verified to solve.
    """
    solution = solve(declared.table, env.core.facts)
    if any(not defers or not _is_deferred(found) for found in solution.violations):
        raise violation(solution, declared.inputs, declared.spots)
    guard_set = solution.guard_set
    ranges = {env.to_sympy(s.as_int()): int_ranges(*interval) for s, interval in solution.ranges.items()}
    images = {s: image for s, image in guard_set.images.items() if isinstance(s, Symbol)}
    replacements = {env.to_sympy(s.as_int()): env.to_sympy(image) for s, image in images.items()}
    lines = [*(GuardLine(text, ()) for text in declared.shared), *_guards(solution)]
    notes = [*declared.table.notes, *_pinned(solution), *solution.raised]
    return Settled(solution, lines, ranges, replacements, notes)


def _is_deferred(found: Violation) -> bool:
    """Whether a condition can be left to each call: no range expresses it, or its parts (3 * m == n * n)."""
    return found.kind in _DEFERRED or (found.kind == "range" and any(g.kind != "range" for g in found.guards))


def _guards(solution: Solution) -> list[GuardLine]:
    """All conditions. Symbols that no spec made (a stride, a storage offset) are written by their own source."""
    return solution.guard_lines(_text)


def _text(source: Any) -> str:
    return source if isinstance(source, str) else source.name


def _pinned(solution: Solution) -> list[str]:
    """The dimensions that were to be discovered, and have one size; with the lines that are the reason."""
    notes = []
    for dim, size, before in zip(solution.table.dims, solution.sizes, solution.table.sizes):
        if before.terms and not size.terms:
            reasons = [str(fact.origin) for guard in solution.guard_set.guards
                       if guard.kind == "equality" and guard.symbol in symbols_of(before)
                       for fact in solution.guard_set.origins(guard)]
            because = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
            notes.append(f"{dim.text} is static: the program only works for {size.const}{because}")
    return notes


__all__ = [
    "SpecifiedCall",
    "DeclaredInputs",
    "InvalidDynamicShapes",
    "Settled",
    "declare_inputs",
    "read_call",
    "settle",
]
