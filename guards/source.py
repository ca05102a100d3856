"""Where a value was read from: a path that starts at something named and is followed step by step.

A `Source` is followed twice: by the code that `compiler.py` generates (fast, each shared prefix once), and by `follow`
(slow, to say what was found). Both use the same table `STEPS`. No step runs code of the user: an instance's attribute is
read from its `__dict__`, an item through the built-in type's own method. That needs the parent to have the type that it
had, so a guard on the parent's type stands before each such step.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One way to get from a value to a part of it.

    `code` is Python with {p}, the parent's variable, and {k}, the key; `text` shows the step to people in the same way.
    """

    code: str
    text: str
    follow: Callable[[Any, Any], Any]


def _cell(fn: Any, index: int) -> Any:
    return fn.__closure__[index].cell_contents


STEPS: Mapping[str, Step] = {
    # ---- roots: {k} is the index or name
    "module": Step("mod", "L['self']", lambda call, key: call[0]),
    "function": Step("mod", "F", lambda call, key: call[0]),
    "argument": Step("args[{k}]", "L[{k}]", lambda call, key: call[1][key]),
    "keyword": Step("kwargs[{k}]", "L[{k}]", lambda call, key: call[2][key]),
    "constant": Step("{k}", "{k}", lambda call, key: key),
    # ---- parts of objects
    "attribute": Step("{p}.{k}", "{p}.{k}", getattr),
    "slot": Step("_getattribute({p}, {k})", "{p}.{k}", object.__getattribute__),
    "dict": Step("{p}.__dict__", "{p}.__dict__", lambda p, key: object.__getattribute__(p, "__dict__")),
    "class_entry": Step("{p}.__dict__[{k}]", "{p}.{k}", lambda p, key: type.__dict__["__dict__"].__get__(p)[key]),
    "cell": Step("{p}.__closure__[{k}].cell_contents", "{p}.__closure__[{k}].cell_contents", _cell),
    "context_value": Step("{p}.get(None)", "{p}.get()", lambda p, key: p.get(None)),
    "referent": Step("{p}()", "{p}()", lambda p, key: p()),
    # ---- items: of the exact type, and of a subclass through the built-in type
    "item": Step("{p}[{k}]", "{p}[{k}]", lambda p, key: p[key]),
    "dict_item": Step("_dict_item({p}, {k})", "{p}[{k}]", dict.__getitem__),
    "list_item": Step("_list_item({p}, {k})", "{p}[{k}]", list.__getitem__),
    "tuple_item": Step("_tuple_item({p}, {k})", "{p}[{k}]", tuple.__getitem__),
    "deque_item": Step("_deque_item({p}, {k})", "{p}[{k}]", collections.deque.__getitem__),
}
"""Step → how to do it in generated code, how to show it, how to do it now."""

HELPERS: Mapping[str, Any] = {
    "_getattribute": object.__getattribute__,
    "_dict_item": dict.__getitem__,
    "_list_item": list.__getitem__,
    "_tuple_item": tuple.__getitem__,
    "_deque_item": collections.deque.__getitem__,
}
"""What the generated code of STEPS calls."""

ROOTS = frozenset({"module", "function", "argument", "keyword", "constant"})


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A path: `step` with `key` from `parent` (None for a root). `text` is how people read it.

    Sources are compared by identity; whoever makes them makes each once (so that prefixes are shared).
    """

    parent: Source | None
    step: str
    key: Any
    text: str

    def follow(self, call: tuple[Any, Any, Any]) -> Any:
        """The value that is there now; `call` is (mod, args, kwargs). Raises what a step raises."""
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


def root(step: str, key: Any = None, text: str | None = None) -> Source:
    """A path's beginning: the callable, an argument, or a constant object (`text` names that)."""
    return Source(None, step, key, text if text is not None else STEPS[step].text.replace("{k}", repr(key)))


def child(parent: Source, step: str, key: Any = None, text: str | None = None) -> Source:
    """The path one step on. `text` replaces the step's usual way to be shown."""
    if text is None:
        plain = step in ("attribute", "slot", "class_entry")
        shown = key if plain else _short(key)
        text = STEPS[step].text.replace("{p}", parent.text).replace("{k}", str(shown))
    return Source(parent, step, key, text)


def _short(key: Any) -> str:
    text = repr(key) if isinstance(key, (str, int, float, bytes, bool, type(None))) else f"<{type(key).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."
