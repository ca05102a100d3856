"""A guard set as one Python function.

Each prefix of a path is read once, into its own variable. The function returns the index of the first guard that does
not hold, or -1 if all hold. An exception in a read counts as a failure of the guard that the read was generated for.
The guard is found by the line number in the generated code, which costs nothing while the guards hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from dynamo_lite.guards import kinds, source, tensors
from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.kinds import EARLY, KINDS, LATE
from dynamo_lite.guards.source import STEPS, Source

Check = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[int, Exception | None]]


def ranked(guards: Sequence[Guard]) -> list[int]:
    """The indices in the order in which the guards are checked."""

    def order(index: int) -> tuple[int, int]:
        guard = guards[index]
        of_module = guard.kind == "tensor" and guard.line is not None
        group = 0 if guard.kind in EARLY and not of_module else 2 if guard.kind in LATE else 1
        if guard.kind == "state":
            group = -1  # before the tensors: with a function mode on, a read of a tensor's metadata would run the mode
        return (group, index)  # in the order of discovery within a group: depth by depth from the roots

    # not by len(): a program may have replaced it by now, and the guard on len() has to be checked
    return sorted((index for index, _ in enumerate(guards)), key=order)


def type_guards(guards: Sequence[Guard]) -> dict[int, int]:
    """Maps the source of each guard on a type or an identity to its index. It is checked before a step from there."""
    return {id(g.source): i for i, g in enumerate(guards) if g.kind in ("type", "is", "same") and g.source is not None}


class Compiler:
    """Generates the function for `guards`. `arguments` maps the names of the call's tensors and constants to their
    sources, for guards that are written as Python over `L`; `namespace` has the other names that those use. The guards
    in `left_out`, by index, are not checked."""

    def __init__(
        self,
        guards: Sequence[Guard],
        arguments: dict[str, Source],
        namespace: dict[str, Any],
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        self._guards = guards
        self._left_out = left_out
        self._arguments = arguments
        self._lines: list[str] = []
        self._owner: list[int] = []  # of each line, the guard that it belongs to
        self._variables: dict[int, str] = {}
        self._constants: dict[str, Any] = {**namespace, **source.HELPERS, **kinds.HELPERS}
        self._constant_names: dict[int, str] = {}
        self._emitted: set[int] = set()
        self._type_guards = type_guards(guards)
        self._has_names = False
        self._names = 0

    @cached_property
    def text(self) -> str:
        """The source of the function."""
        for index in ranked(self._guards):
            self._emit(index)
        body = [f"    {line}" for line in self._lines] or ["    pass"]
        return "\n".join(["def check(mod, args, kwargs):", *body, "    return -1"]) + "\n"

    def compile(self) -> Check:
        """The function."""
        code = compile(self.text, "<guards>", "exec")
        if any(guard.kind == "tensor" for guard in self._guards):
            self._constants.update(tensors.helpers())
        exec(code, self._constants)
        run, owner = self._constants["check"], self._owner

        def check(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Exception | None]:
            try:
                return run(mod, args, kwargs), None
            except Exception as error:
                assert error.__traceback__ is not None
                inner = error.__traceback__.tb_next
                assert inner is not None and inner.tb_lineno is not None
                return owner[inner.tb_lineno - 2], error

        return check

    def _line(self, text: str, index: int) -> None:
        self._lines.append(text)
        self._owner.append(index)

    def _emit(self, index: int) -> None:
        guard = self._guards[index]
        if index in self._emitted or index in self._left_out:
            return
        self._emitted.add(index)
        variable = self._read(guard.source, index) if guard.source is not None else ""
        other = self._read(guard.other, index) if guard.other is not None else ""
        condition = self._condition(guard, variable, other, index)
        self._line(f"if {condition}: return {index}", index)

    def _condition(self, guard: Guard, variable: str, other: str, index: int) -> str:
        kind = guard.kind
        if kind == "tensor":
            return tensors.fails(variable, guard.expected, self._constant)
        if kind == "python":
            self._bind_names(index)
            return f"not ({guard.expected})"
        if kind == "state":
            return f"{self._constant(guard.expected.read)}() != {self._constant(guard.expected.value)}"
        if kind in ("absent", "present"):
            word = "in" if kind == "absent" else "not in"
            text = " or ".join(f"{self._literal(name)} {word} {variable}" for name in guard.expected)
            return text if kind == "present" else f"{variable} and ({text})"
        if kind == "equals" and (guard.expected is None or type(guard.expected) is bool):
            return f"{variable} is not {guard.expected}"
        if kind in ("equals", "is"):
            return KINDS[kind].fails.format(v=variable, c=self._constant(guard.expected))
        constant = "" if kind in ("same", "distinct", "empty", "filled", "no_hooks") else self._literal(guard.expected)
        return KINDS[kind].fails.format(v=variable, c=constant, w=other)

    def _read(self, path: Source, index: int) -> str:
        """The variable that holds the value at `path`. The guard on its parent's type is emitted before the step."""
        known = self._variables.get(id(path))
        if known is not None:
            return known
        if path.step == "constant":
            name = self._constant(path.key)
            self._variables[id(path)] = name
            return name
        parent = ""
        if path.parent is not None:
            parent = self._read(path.parent, index)
            before = self._type_guards.get(id(path.parent))
            if before is not None:
                self._emit(before)
        step = STEPS[path.step].code
        self._names += 1  # not len(), which a program may have replaced by now
        name = f"v{self._names}"
        key = path.key if path.step == "attribute" else self._literal(path.key)
        self._line(f"{name} = {step.replace('{p}', parent).replace('{k}', str(key))}", index)
        self._variables[id(path)] = name
        return name

    def _bind_names(self, index: int) -> None:
        """`L`, for the guards that are written over it."""
        if not self._has_names:
            self._has_names = True
            entries = (f"{name!r}: {self._read(path, index)}" for name, path in self._arguments.items())
            self._line(f"L = {{{', '.join([*entries])}}}", index)

    def _literal(self, value: Any) -> str:
        kind = type(value)
        if value is None or kind is bool or kind is int or (kind is str and len(value) < 200):
            return repr(value)
        return self._constant(value)

    def _constant(self, value: Any) -> str:
        name = self._constant_names.get(id(value))
        if name is None:
            self._names += 1
            name = f"c{self._names}"
            self._constant_names[id(value)] = name
            self._constants[name] = value
        return name
