"""From Dim specs to symbols: each input dimension gets a size, an expression in a shape environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dynamo_lite.symbolic_shapes.dims import specs as dim_specs
from dynamo_lite.symbolic_shapes.dims.specs import (
    Auto,
    Constant,
    Derived,
    DimSpec,
    Dynamic,
    Hint,
    InvalidSpec,
    Named,
    Static,
)
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import Extended, Int, Node, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.proofs.facts import Origin


@dataclass(frozen=True)
class InputDim:
    """One dimension of an input (or an integer input).

    Attributes:
        source: a Python expression for the size, e.g. "L['x'].size()[0]".
        hint: the size in the example.
        spec: the user's specification: any argument of `as_spec`.
        label: its name in messages, e.g. "x.shape[0]"; the source if empty.
        place: the location of the spec, as a Python assignment target, e.g. "dynamic_shapes['x'][0]".
        is_size: whether it is a size (never negative), not an integer argument.
    """

    source: str
    hint: int
    spec: Any = None
    label: str = ""
    place: str = ""
    is_size: bool = True

    @property
    def text(self) -> str:
        return self.label or self.source

    @property
    def target(self) -> str:
        return self.place or f"dynamic_shapes[{self.text!r}]"


class InvalidDims(InvalidSpec):
    """Specs that do not fit the example, or each other. `problems` has a sentence for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(["The specs of the input dimensions do not fit:", *(f"  - {p}" for p in problems)]))


@dataclass(frozen=True)
class DimTable:
    """The declared dimensions: `specs` and `sizes` go along `dims`; `names` are the symbols of the named Dims."""

    env: ShapeEnv
    dims: tuple[InputDim, ...]
    specs: tuple[DimSpec, ...]
    sizes: tuple[Int, ...]
    names: dict[str, Symbol]
    notes: tuple[str, ...] = ()

    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of the dimensions, oldest first."""
        found = dict.fromkeys([*self.names.values(), *(s for size in self.sizes if (s := _symbol(size)) is not None)])
        return tuple(sorted(found, key=lambda s: s.id))

    def users(self, symbol: Symbol) -> list[int]:
        """The indices of the dimensions whose size is just this symbol."""
        return [i for i in self._places.get(symbol, ()) if self.sizes[i] is symbol.as_int()]

    def spec_of(self, symbol: Symbol) -> DimSpec:
        """The spec that made a symbol."""
        first = self.specs[self._places[symbol][0]]
        return first.root if isinstance(first, Derived) else first

    @cached_property
    def _places(self) -> dict[Symbol, list[int]]:
        """The indices of the dimensions in whose size a symbol is."""
        found: dict[Symbol, list[int]] = {}
        for i, size in enumerate(self.sizes):
            for symbol in symbols_of(size):
                found.setdefault(symbol, []).append(i)
        return found

    def integers(self) -> frozenset[Symbol]:
        """The symbols that no size has: integer inputs, which may be negative."""
        sizes = {s for dim, size in zip(self.dims, self.sizes) if dim.is_size for s in symbols_of(size)}
        return frozenset(self.symbols()) - sizes

    def unsigned(self) -> frozenset[Symbol]:
        """The symbols that are not negative in any call, since some size is a*symbol + b with b < a. A root of d + 1
        alone is -1 where the size is 0."""
        return frozenset(s for dim, size in zip(self.dims, self.sizes) if dim.is_size
                         for s in symbols_of(size) if size.const < size.terms[s,])

    def edges(self, symbol: Symbol, few: int) -> tuple[int, int]:
        """(least, from): the least value of a symbol for which no dimension that is a*symbol + b is negative, and the
        least for which all of them are sizes of `few` or more."""
        least, start = 0, 0
        for i in self._places.get(symbol, ()):
            size = self.sizes[i]
            a = size.terms.get((symbol,), 0)
            if self.dims[i].is_size and a > 0:
                least = max(least, -(size.const // a))
                start = max(start, -((size.const - few) // a))
        return least, start

    # -- as Python -----------------------------------------------------------------------------------------------
    def sources(self) -> dict[Symbol, str]:
        """A Python expression over the inputs for each symbol."""
        return {s: self.dims[users[0]].source if (users := self.users(s)) else self._from_derived(s)
                for s in self.symbols()}

    @cached_property
    def labels(self) -> dict[Symbol, str]:
        """How messages call each symbol: by a dimension that it is, else by the name of its Dim."""
        names = {symbol: name for name, symbol in self.names.items()}
        return {s: self.dims[users[0]].text if (users := self.users(s)) else names[s] for s in self.symbols()}

    def in_words(self, node: Node) -> str:
        """An expression with each symbol written as the dimension that it is."""
        return to_python(node, lambda s: self.labels.get(s, str(s)))  # type: ignore[call-overload]

    def _from_derived(self, symbol: Symbol) -> str:
        """A root that no dimension has on its own, from one that is a*root + b; in parentheses, as an operand."""
        spec, text = next((spec, dim.source) for spec, dim in zip(self.specs, self.dims)
                          if isinstance(spec, Derived) and self.names[spec.root.name] is symbol)
        if spec.b:
            text = f"({text} {'-' if spec.b > 0 else '+'} {abs(spec.b)})"
        return f"({text} // {spec.a})" if spec.a > 1 else text

    def structure(self) -> list[str]:
        """The demands of the specs' structure on the inputs, as Python expressions: one for each dimension that shares
        a symbol with an earlier one or follows a root. If they hold, `sources` has the symbols' values."""
        sources = self.sources()
        demands = []
        for dim, size in zip(self.dims, self.sizes):
            expected = to_python(size, lambda s: sources[s])  # type: ignore[index]
            if size.terms and expected != dim.source:
                demands.append(f"{dim.source} == {expected}")
        return demands


def declare(env: ShapeEnv, dims: Iterable[InputDim]) -> DimTable:
    """Make the symbols for the input dimensions. InvalidSpec, InvalidDims if the specs are malformed or do not fit.

    Under `Dim.AUTO` an example size of 0 or 1 is static, as torch.export has it: broadcasting gives both
    another meaning (named and DYNAMIC dimensions, and integers, stay symbols)."""
    return _Declaration(env, tuple(dims)).table()


class _Declaration:
    def __init__(self, env: ShapeEnv, dims: tuple[InputDim, ...]) -> None:
        self.env, self.dims = env, dims
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.specs = tuple(self._read(dim) for dim in dims)
        self.roots: dict[str, tuple[Named, int, InputDim]] = {}
        self.names: dict[str, Symbol] = {}

    def _read(self, dim: InputDim) -> DimSpec:
        try:
            return dim_specs.as_spec(dim.spec)
        except InvalidSpec as error:
            self._problem(dim, str(error))
            return Static()

    def table(self) -> DimTable:
        for dim, spec in zip(self.dims, self.specs):
            self._check(dim, spec)
        if self.problems:
            raise InvalidDims(self.problems)
        sizes = tuple(self._size(dim, spec) for dim, spec in zip(self.dims, self.specs))
        return DimTable(self.env, self.dims, self.specs, sizes, self.names, tuple(self.notes))

    # -- checks --------------------------------------------------------------------------------------------------
    def _check(self, dim: InputDim, spec: DimSpec) -> None:
        if isinstance(spec, Constant) and spec.value != dim.hint:
            self._problem(dim, f"{dim.text} is {dim.hint} in the example, its spec is {spec.value}")
        elif isinstance(spec, Hint):
            self._check_range(dim, spec, dim.hint)
        elif isinstance(spec, Named):
            self._check_root(dim, spec, dim.hint)
        elif isinstance(spec, Derived):
            root, remainder = divmod(dim.hint - spec.b, spec.a)
            if remainder:
                self._problem(dim, f"{dim.text} is {dim.hint} in the example: no {spec.root.name} makes "
                                   f"{spec.to_python()} that")
            else:
                self._check_root(dim, spec.root, root)

    def _check_root(self, dim: InputDim, root: Named, value: int) -> None:
        known = self.roots.setdefault(root.name, (root, value, dim))
        if known[0] != root:
            self._problem(dim, f"{dim.text} has {root.to_python()}, {known[2].text} has {known[0].to_python()}: "
                               "one name with two ranges")
        if known[1] != value:
            self._problem(dim, f"{dim.text} and {known[2].text} share Dim {root.name}, but in the example it "
                               f"would be {value} for the one and {known[1]} for the other")
        self._check_range(dim, root, value)

    def _check_range(self, dim: InputDim, spec: Named | Hint, value: int) -> None:
        if not spec.lo <= value <= spec.hi:
            what = f"{dim.text} is {dim.hint}" + (f" ({spec.name} is {value})" if isinstance(spec, Named) else "")
            self._problem(dim, f"{what} in the example, outside of {spec.to_python()}")

    def _problem(self, dim: InputDim, what: str) -> None:
        self.problems.append(f"{dim.target}: {what}")

    # -- sizes ---------------------------------------------------------------------------------------------------
    def _size(self, dim: InputDim, spec: DimSpec) -> Int:
        if isinstance(spec, Named):
            return self._root(dim, spec, dim.hint, dim.source)
        if isinstance(spec, Derived):
            value = (dim.hint - spec.b) // spec.a
            return self._root(dim, spec.root, value, self._source_of(spec.root)) * spec.a + spec.b
        if isinstance(spec, Auto) and dim.is_size and dim.hint in (0, 1):
            self.notes.append(f"{dim.text} is static: {spec.to_python()}, and it is {dim.hint} in the example")
        elif isinstance(spec, Auto | Dynamic):
            lo = max(spec.lo, 0) if dim.is_size else spec.lo
            return self._backed(dim, spec, dim.hint, lo, spec.hi, dim.source)
        return as_int(dim.hint)

    def _root(self, dim: InputDim, root: Named, value: int, source: str | None) -> Int:
        if root.name not in self.names:
            size = self._backed(dim, root, value, root.lo, root.hi, source)
            symbol = _symbol(size)
            assert symbol is not None
            self.names[root.name] = symbol
        return self.names[root.name].as_int()

    def _source_of(self, root: Named) -> str | None:
        return next((dim.source for dim, spec in zip(self.dims, self.specs)
                     if isinstance(spec, Named) and spec.name == root.name), None)

    def _backed(self, dim: InputDim, spec: DimSpec, value: int, lo: Extended, hi: Extended, source: str | None) -> Int:
        origin = Origin("Dim spec", note=f"{dim.target} = {spec.to_python()}")
        return self.env.backed(value, lo=lo, hi=hi, source=source, origin=origin)


def _symbol(size: Int) -> Symbol | None:
    atom = size.as_atom()
    return atom if isinstance(atom, Symbol) else None
