"""Guards grouped by relevance to the program: the user's sizes and values first, torch's internals last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from dynamo_lite.errors import UserFrame
from dynamo_lite.guards import Guard


class Group(NamedTuple):
    """One kind of conditions. `folded`: a reader wants the number, not the list."""

    key: str
    title: str
    folded: str = ""


GROUPS = (
    Group("sizes", "conditions on sizes"),
    Group("arguments", "requirements on the arguments"),
    Group("values", "values that the program read: constants of the program"),
    Group("library_values", "values that libraries read", "values that library code read"),
    Group("weights", "parameters, buffers and constants", "tensors that the program holds are still those"),
    Group(
        "form",
        "the form of modules, containers and functions",
        "types, keys, hooks and code as they were",
    ),
    Group("torch", "torch's own classes, functions and values", "of torch's own classes, functions and values"),
    Group("switches", "torch's switches", "switches of torch as they were"),
)
"""In the order in which they are shown."""

_OF_VALUES = frozenset(
    {"equals", "items", "set", "contents", "length", "keys", "empty", "filled", "present", "unknown"}
)
_REGISTRIES = (
    *("._modules", "._parameters", "._buffers", "_buffers_set", "_hooks"),
    *(".__dict__", ".__defaults__", ".__kwdefaults__"),
)
_OF_CALLS = frozenset({"arguments", "keywords"})


def place_of(guard: Guard) -> UserFrame | None:
    """The line that read the value of a guard; None where no line of the program did, or several did (sizes)."""
    frame = getattr(guard.line, "frame", None)
    return frame() if frame is not None else None


def rank_of(filename: str) -> str:
    """Whose a file is: "yours", "library" (installed) or "torch" (and the standard library's)."""
    if UserFrame(filename, 1, "").is_library or filename.startswith("<frozen"):
        return "torch"
    return "library" if "site-packages" in filename or "dist-packages" in filename else "yours"


def owned_by_torch(guards: Iterable[Guard]) -> frozenset[str]:
    """The places where there are objects of torch's own classes: `L['self'].layers[0].norm1`."""
    return frozenset(
        guard.source.text
        for guard in guards
        if guard.kind == "type" and guard.source is not None and _is_torchs(guard.expected)
    )


def _is_torchs(kind: Any) -> bool:
    return isinstance(kind, type) and kind.__module__.partition(".")[0] == "torch"


def group_of(guard: Guard, owned: Collection[str] = ()) -> str:
    """The key of the group that a guard is in; `owned` is the result of `owned_by_torch` for the whole set."""
    kind, text = guard.kind, guard.source.text if guard.source is not None else ""
    if kind == "python":
        return "sizes"
    if kind == "state":
        return "switches"
    if kind in _OF_CALLS or (text.startswith("L[") and not text.startswith("L['self']")):
        return "arguments"
    if kind in ("tensor", "same_tensor"):
        return "weights"
    frame = place_of(guard)
    rank = rank_of(frame.filename) if frame is not None else "torch"
    if kind in _OF_VALUES and not _of_torch(text):
        if text.rpartition(".")[0] in owned and not _is_registry(guard):
            return "library_values"
        if rank == "torch" and not _is_registry(guard) and text.startswith(("L['self']", "G[")):
            return "library_values"
        return {"yours": "values", "library": "library_values"}.get(rank, "form") if not _is_registry(guard) else "form"
    return "torch" if _of_torch(text) else "form"


def grouped(guards: Iterable[Guard]) -> Mapping[str, list[tuple[int, Guard]]]:
    """Key of the group → (index in the set, guard), in the order of GROUPS; empty groups are left out."""
    found: dict[str, list[tuple[int, Guard]]] = {group.key: [] for group in GROUPS}
    guards = list(guards)
    owned = owned_by_torch(guards)
    for index, guard in enumerate(guards):
        found[group_of(guard, owned)].append((index, guard))
    return {key: rows for key, rows in found.items() if rows}


def _of_torch(text: str) -> bool:
    return text.startswith(("torch.", "G['torch", 'G["torch', "builtins."))


def _is_registry(guard: Guard) -> bool:
    """Whether the guard is about the dict of a module's parts or hooks, which follows from the model's form, or about
    an object without a name ("<builtin_function_or_method>.__self__")."""
    text = guard.source.text if guard.source is not None else ""
    return text.endswith(_REGISTRIES) or text.startswith("<")


def innermost_text(frames: tuple[UserFrame, ...]) -> str:
    """ "  (file:line)" of the innermost frame, for the end of a line."""
    return f"  ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def brief_place(guard: Guard) -> str:
    """ "file.py:12 `code`" of what made a guard, for the end of a line; "" if no line did."""
    frame = place_of(guard)
    if frame is not None:
        return f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} `{frame.source}`"
    brief: Any = getattr(guard.line, "brief", None)
    return brief or ""
