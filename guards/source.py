"""The source of a value: a path that starts at a named value and is followed step by step.

A `Source` is followed by the code that `compiler.py` generates (fast, each shared prefix once) and by `follow` (slow,
for messages). Both use the table `STEPS`. No step runs code of the user: an instance's attribute is read from its
`__dict__`, an item through the built-in type's own method. This requires that the parent's type has not changed, so a
guard on the parent's type is checked before each such step.
"""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from dynamo_lite.guards import classes


class SourceStep(NamedTuple):
    """One step from a value to a part of it.

    `code` is Python with {p}, the parent's variable, and {k}, the key; `text` is the same step as displayed to users.
    """

    code: str
    text: str
    follow: Callable[[Any, Any], Any]


def local_dict(local: threading.local) -> dict[str, Any]:
    """The attributes of a thread local in this thread, past an override of a subclass."""
    found: dict[str, Any] = threading.local.__getattribute__(local, "__dict__")
    return found


def _cell(fn: Any, index: int) -> Any:
    return fn.__closure__[index].cell_contents


STEPS: Mapping[str, SourceStep] = {
    # ---- roots: {k} is the index or name
    "module": SourceStep("mod", "L['self']", lambda call, key: call[0]),
    "function": SourceStep("mod", "F", lambda call, key: call[0]),
    "argument": SourceStep("args[{k}]", "L[{k}]", lambda call, key: call[1][key]),
    "keyword": SourceStep("kwargs[{k}]", "L[{k}]", lambda call, key: call[2][key]),
    "constant": SourceStep("{k}", "{k}", lambda call, key: key),
    # ---- parts of objects
    "attribute": SourceStep("{p}.{k}", "{p}.{k}", getattr),
    "slot": SourceStep("_getattribute({p}, {k})", "{p}.{k}", object.__getattribute__),
    "dict": SourceStep("{p}.__dict__", "{p}.__dict__", lambda p, key: object.__getattribute__(p, "__dict__")),
    "class_entry": SourceStep("{p}.__dict__[{k}]", "{p}.{k}", lambda p, key: type.__dict__["__dict__"].__get__(p)[key]),
    "cell": SourceStep("{p}.__closure__[{k}].cell_contents", "{p}.__closure__[{k}].cell_contents", _cell),
    "behind": SourceStep("_behind({p})", "{p}", lambda p, key: classes.behind(p)),
    "namespace": SourceStep("_namespace_of({p})", "{p}.__dict__", lambda p, key: classes.namespace_of(p)),
    "local_dict": SourceStep("_local_dict({p})", "{p}.__dict__", lambda p, key: local_dict(p)),
    "context_value": SourceStep("{p}.get(None)", "{p}.get()", lambda p, key: p.get(None)),
    "referent": SourceStep("_referent({p})", "{p}()", lambda p, key: weakref.ref.__call__(p)),
    # ---- items: of the exact type, and of a subclass through the built-in type
    "nth_value": SourceStep("_nth_value({p}, {k})", "[*{p}.values()][{k}]", lambda p, key: [*dict.values(p)][key]),
    "item": SourceStep("{p}[{k}]", "{p}[{k}]", lambda p, key: p[key]),
    "dict_item": SourceStep("_dict_item({p}, {k})", "{p}[{k}]", dict.__getitem__),
    "list_item": SourceStep("_list_item({p}, {k})", "{p}[{k}]", list.__getitem__),
    "tuple_item": SourceStep("_tuple_item({p}, {k})", "{p}[{k}]", tuple.__getitem__),
    "deque_item": SourceStep("_deque_item({p}, {k})", "{p}[{k}]", collections.deque.__getitem__),
}
"""Step → how to do it in generated code, how to show it, how to do it now."""

HELPERS: Mapping[str, Any] = {
    "_getattribute": object.__getattribute__,
    "_behind": classes.behind,
    "_namespace_of": classes.namespace_of,
    "_local_dict": local_dict,
    "_referent": weakref.ref.__call__,
    "_nth_value": lambda p, key: [*dict.values(p)][key],
    "_dict_item": dict.__getitem__,
    "_list_item": list.__getitem__,
    "_tuple_item": tuple.__getitem__,
    "_deque_item": collections.deque.__getitem__,
}
"""The helpers that the generated code of STEPS calls."""

_REGISTRIES = frozenset({"_modules", "_parameters", "_buffers"})
"""Dicts of an nn.Module whose entries are read as its attributes."""
_PLAIN = frozenset({"attribute", "slot", "class_entry"})


class Source:
    """A path: `step` with `key` from `parent` (None for a root).

    Sources are compared by identity; their maker makes each once (so that prefixes are shared). Texts are made
    on demand.
    """

    __slots__ = ("_shown", "_text", "key", "parent", "step")

    def __init__(self, parent: Source | None, step: str, key: Any, shown: str | None = None) -> None:
        self.parent = parent
        self.step = step
        self.key = key
        self._shown = shown
        self._text: str | None = None

    @property
    def text(self) -> str:
        """How people read it."""
        if self._text is None:
            self._text = self._make_text()
        return self._text

    def _make_text(self) -> str:
        owner = self._owner()
        if owner is not None and isinstance(self.key, str):
            of_module = owner.step == "constant" and type(owner.key) is ModuleType
            shown = f"[{self.key!r}]" if of_module else f"[{self.key}]" if self.key.isdigit() else f".{self.key}"
            return owner.text + shown
        base = self.parent.text if self.parent is not None else ""
        key = str(self.key) if self.step in _PLAIN else _short(self.key)
        form = self._shown if self._shown is not None else STEPS[self.step].text
        return form.replace("{p}", base).replace("{k}", key)

    def _owner(self) -> Source | None:
        """The object whose attribute this is: an entry of its `__dict__`, or of a module's registry."""
        holder = self.parent
        if self.step not in ("item", "dict_item") or holder is None or holder.parent is None:
            return None
        if holder.step in ("item", "dict_item") and _is_registry(holder.key) and holder.parent.parent is not None:
            holder = holder.parent
        if holder.step == "dict" or (holder.step == "slot" and holder.key == "__dict__"):
            return holder.parent
        return None

    def follow(self, call: tuple[Any, Any, Any]) -> Any:
        """The current value at this source; `call` is (mod, args, kwargs). Raises what a step raises."""
        steps = []
        source: Source | None = self
        while source is not None:
            steps.append(source)
            source = source.parent
        value: Any = call
        for source in reversed(steps):
            value = STEPS[source.step].follow(value, source.key)
        return value

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Source {self.text}>"


def root(step: str, key: Any = None, text: str | None = None) -> Source:
    """A path's beginning: the callable, an argument, or a constant object (`text` names that)."""
    return Source(None, step, key, text)


def child(parent: Source, step: str, key: Any = None, shown: str | None = None) -> Source:
    """The path one step on. `shown` replaces the form that STEPS gives to the step's text."""
    return Source(parent, step, key, shown)


def _is_registry(key: Any) -> bool:
    return isinstance(key, str) and key in _REGISTRIES


def _short(key: Any) -> str:
    text = repr(key) if isinstance(key, (str, int, float, bytes, bool, type(None))) else f"<{type(key).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."
