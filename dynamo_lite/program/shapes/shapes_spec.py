"""torch's ShapesSpec, ParamsSpec and `@dynamic_spec` (torch 2.14, torch/fx/experimental/dynamic_spec.py).

Each variable is an unbacked size: the example decides nothing about it, so that nothing is specialised silently. A
derived size (`batch * 2`) is an expression over the variables, and an assumption about them (`batch % 2 == 0`) is a
fact for the solver, which proves conditions from it; each call of the program checks those that do not follow.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
import torch
from torch import nn

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program._torch import PythonPrinter
from dynamo_lite.program.shapes.spec_tree import DerivedSpecs, arguments
from dynamo_lite.symbolic_shapes import Int, Origin
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import from_sympy
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH
from dynamo_lite.torch_internals._torch_specs import (
    ATTACHED,
    dynamic_spec,
    expression,
    items_of,
    named_arguments,
    params_of,
)


@dataclass(frozen=True)
class SpecSize:
    """A size, or an int, that a spec describes: the sympy expression, and the IntVar if it is one."""

    expr: Any
    variable: Any = None

    def __str__(self) -> str:
        return text_of(self.expr)


def text_of(expr: Any) -> str:
    """An expression with the names that the user gave: torch adds a number to each (`batch#0`)."""
    return re.sub(r"#\d+", "", str(expr))


class SpecShapes(DerivedSpecs):
    """A ShapesSpec in the plain form, a dict by argument name whose leaves are `SpecSize`."""

    def __init__(self, specs: Mapping[str, Any], assumptions: Sequence[Any], problems: Sequence[str]) -> None:
        super().__init__(specs, "spec")
        self.assumptions = list(assumptions)
        self.problems = list(problems)


def given_or_attached(mod: Callable[..., Any], dynamic_shapes: Any) -> Any:
    """`dynamic_shapes`, or the specification by `@dynamic_spec` on the function. InvalidArguments if there are both."""
    function = mod.forward if isinstance(mod, nn.Module) else mod
    attached = getattr(function, ATTACHED, None)
    if attached is None or not is_spec(attached):
        return dynamic_shapes
    if dynamic_shapes is not None and dynamic_shapes is not attached:  # torch.export.export hands it over
        name = getattr(function, "__qualname__", repr(function))
        raise InvalidArguments(f"{name} has a @dynamic_spec, and dynamic_shapes is given as well: give one of them")
    return attached


def is_spec(value: Any) -> bool:
    """Whether it is a ShapesSpec or a ParamsSpec."""
    specs = dynamic_spec()
    return specs is not None and isinstance(value, (specs.ShapesSpec, specs.ParamsSpec))


def plain(spec: Any, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> SpecShapes:
    """The spec by argument names, in the structure of the arguments: arguments without an entry are static."""
    has_assumptions = isinstance(spec, dynamic_spec().ShapesSpec)
    params = params_of(spec) if has_assumptions else spec
    return _Reading(signature, args, kwargs).read(
        {} if params is None else named_arguments(params), spec.assumptions if has_assumptions else ()
    )


class _Reading:
    def __init__(self, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.slots = list(zip(arguments(signature, args, kwargs), [*args, *kwargs.values()]))
        self.keywords = [*kwargs]
        self.problems: list[str] = []

    def read(self, said: Mapping[str, Any], assumptions: Sequence[Any]) -> SpecShapes:
        shapes: dict[str, Any] = {}
        used: set[str] = set()
        for slot, value in self.slots:
            name = slot.parameter
            if slot.kind is inspect.Parameter.VAR_POSITIONAL:
                rest = said.get("*args", [])
                at = int(slot.key or 0)
                entry = self._entry(rest[at] if at < len(rest) else None, value, f"*args[{at}]")
                shapes.setdefault(name, []).append(entry)
            elif slot.kind is inspect.Parameter.VAR_KEYWORD:
                key = str(slot.key)
                where = key if key in said else f"**kwargs[{key!r}]"
                shapes.setdefault(name, {})[key] = self._entry(self._of_keyword(said, key), value, where)
                used.add(key)
            else:
                spec = self._of_keyword(said, name) if name in self.keywords else said.get(name)
                shapes[name] = self._entry(spec, value, name)
                used.add(name)
        unknown = [name for name in said if name not in (*used, "*args", "**kwargs")]
        self.problems += [f"the spec has {name!r}, which the call does not give" for name in unknown]
        self._check_variadic(said)
        return SpecShapes(shapes, assumptions, self.problems)

    @staticmethod
    def _of_keyword(said: Mapping[str, Any], name: str) -> Any:
        """The entry of a keyword argument: by its name, else within `**kwargs`, whichever parameter takes it."""
        return said[name] if name in said else said.get("**kwargs", {}).get(name)

    def _check_variadic(self, said: Mapping[str, Any]) -> None:
        count = sum(slot.kind is inspect.Parameter.VAR_POSITIONAL for slot, _ in self.slots)
        if len(said.get("*args", ())) > count:
            self.problems.append(f"the spec has {len(said['*args'])} entries for *args, which takes {count} arguments")
        unknown = [name for name in said.get("**kwargs", ()) if name in said or name not in self.keywords]
        self.problems += [f"the spec has **kwargs[{name!r}], which the call does not give" for name in unknown]

    def _entry(self, spec: Any, value: Any, where: str) -> Any:
        """The entry of one value, in the plain form."""
        specs = dynamic_spec()
        if spec is None or type(spec) is int:
            return spec
        if isinstance(spec, torch.SymInt):
            return _size(spec) if type(value) is int else self._problem(spec, value, where)
        if isinstance(spec, specs.TensorSpec):
            if not isinstance(value, torch.Tensor):
                return self._problem(spec, value, where)
            return [dim if dim is None or type(dim) is int else _size(dim) for dim in items_of(spec)]
        if isinstance(spec, specs.SeqSpec):
            return self._sequence(items_of(spec), value, where)
        if isinstance(spec, (specs.DictSpec, specs.ObjectSpec)):
            keys = list(value) if isinstance(value, dict) else _fields(value)
            return self._keyed(items_of(spec), value, keys, where)
        self.problems.append(f"{where}: {type(spec).__name__} states nothing about sizes")
        return None

    def _problem(self, spec: Any, value: Any, where: str) -> None:
        self.problems.append(f"{where}: {_article(type(spec).__name__)}, and the input there is {_described(value)}")

    def _sequence(self, entries: Sequence[Any], value: Any, where: str) -> Any:
        if not isinstance(value, (list, tuple)) or len(entries) > len(value):
            self.problems.append(f"{where}: a SeqSpec of {len(entries)}, and the input there is {_described(value)}")
            return None
        rest = [None] * (len(value) - len(entries))
        return [self._entry(s, v, f"{where}[{i}]") for i, (s, v) in enumerate(zip([*entries, *rest], value))]

    def _keyed(self, entries: Mapping[Any, Any], value: Any, keys: Sequence[Any], where: str) -> Any:
        unknown = [key for key in entries if key not in keys]
        if unknown:
            self.problems.append(f"{where}: the spec has {unknown[0]!r}, and the input there is {_described(value)}")
            return None
        part = value.__getitem__ if isinstance(value, dict) else lambda name: getattr(value, name)
        return {key: self._entry(entries.get(key), part(key), f"{where}[{key!r}]") for key in keys}


def _size(size: Any) -> SpecSize:
    variable = size if isinstance(size, dynamic_spec().IntVar) else None
    return SpecSize(expression(size), variable)


def _fields(value: Any) -> list[str]:
    if dataclasses.is_dataclass(value):
        return [f.name for f in dataclasses.fields(value)]
    return list(getattr(value, "_fields", None) or getattr(value, "__dict__", None) or ())


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def _described(value: Any) -> str:
    return _article(type(value).__name__) + (f" of {len(value)}" if isinstance(value, (list, tuple, dict)) else "")


@dataclass
class SpecSymbols:
    """The variables of a spec as symbols of an environment.

    Attributes:
        lines: what `module()` checks: Python over `L['name']`.
        problems: what does not fit the example.
    """

    env: TorchShapeEnv
    lines: list[str]
    problems: list[str] = field(default_factory=list)
    _symbols: dict[Any, Int] = field(default_factory=dict)
    _values: dict[Any, int] = field(default_factory=dict)
    _sources: dict[Any, Any] = field(default_factory=dict)

    def of_variable(self, size: SpecSize, value: int, source: str, is_size: bool) -> Int:
        """The symbol of a variable; at a second place, the size must be the same number."""
        known = self._symbols.get(size.expr)
        if known is not None:
            self.lines.append(f"{source} == {self._sources[size.expr]}")
            if self._values[size.expr] != value:
                self.problems.append(
                    f"{source} is {value} in the example, and {self._sources[size.expr]}, which is "
                    f"{size.variable.name!r} too, is {self._values[size.expr]}"
                )
            return known
        low, high = size.variable.min, size.variable.max
        lo, hi = -INF if low is None else low, INF if high is None else high
        if not lo <= value <= hi:
            variable = text_of(repr(size.variable))
            self.problems.append(f"{source} is {value} in the example, and {variable} does not allow it")
        if is_size:
            symbol = self.env.input_size(value, Fresh(lo=max(lo, 0), hi=hi, unbacked=True), source)
        else:
            symbol = self.env.input_integer(lo, hi, source)
        self._symbols[size.expr], self._values[size.expr] = symbol, value
        self._sources[size.expr] = sympy.Symbol(source)
        return symbol

    def derived(self, size: SpecSize, value: int, source: str) -> Int | None:
        """The expression of a derived size, all of whose variables are sizes by themselves."""
        unbound = size.expr.free_symbols - self._symbols.keys()
        if unbound:
            names = ", ".join(sorted(map(text_of, unbound)))
            self.problems.append(f"{source} is {size}, and {names} is not a size of an input by itself")
            return None
        given = size.expr.xreplace({s: sympy.Integer(v) for s, v in self._values.items()})
        if given != value:
            self.problems.append(f"{source} is {value} in the example, and {size} is {given} there")
            return None
        self.lines.append(f"{source} == {self._text(size.expr)}")
        return from_sympy(size.expr, self._symbols, TORCH)

    def assume(self, assumptions: Sequence[Any]) -> None:
        """The assumptions as facts. One that follows from the others needs no check."""
        for index, assumption in enumerate(assumptions):
            expr, where = expression(assumption), f"assumptions[{index}]"
            said = f"{where} ({text_of(expr)})"
            unbound = expr.free_symbols - self._symbols.keys()
            if unbound:
                names = ", ".join(sorted(map(text_of, unbound)))
                self.problems.append(f"{said}: {names} is not a size of an input by itself")
                continue
            if expr.xreplace({s: sympy.Integer(v) for s, v in self._values.items()}) != sympy.true:
                self.problems.append(f"{said} does not hold in the example")
                continue
            relation = from_sympy(expr, self._symbols, TORCH)
            origin = Origin("declaration", note=f"{where}: {text_of(expr)}")
            try:
                fact = self.env.core.assume(relation, origin)
            except ContradictoryFacts as error:
                self.problems.append(f"{said} contradicts the rest: {error}")
                continue
            if fact is not None:
                self.lines.append(self._text(expr))

    def _text(self, expr: Any) -> str:
        """Python over the inputs."""
        return str(PythonPrinter().doprint(expr.xreplace(self._sources)))
