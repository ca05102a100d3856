"""Rows that hold from one version of torch up to another.

Each file `_torch*.py` has a tuple SYMBOLS of `Symbol` rows, written as literals: the doctor reads them from the source,
so that it works where the file cannot be imported. DISABLES has the features that a missing one costs by default.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from dynamo_lite.symbolic_shapes.torch_versions.supported import Version, installed


class Symbol(NamedTuple):
    """A name of torch's private API.

    name: "module:qualified.name"; "module#word" for an attribute that the module sets on objects of other classes.
    purpose: its use.
    missing: the features that fail without it ("": see DISABLES of its file).
    since, until: the first version that has it; the first that no longer has it. None: all that are supported.
    instead: the substitute in versions that lack it.
    """

    name: str
    purpose: str
    missing: str = ""
    since: Version | None = None
    until: Version | None = None
    instead: str = ""


class Variant(NamedTuple):
    """A value for the versions `since` <= torch < `until`."""

    value: Any
    since: Version | None = None
    until: Version | None = None


class VersionBound(Protocol):
    """A row that holds in the versions `since` <= torch < `until`."""

    @property
    def since(self) -> Version | None: ...

    @property
    def until(self) -> Version | None: ...


def applies(row: VersionBound, version: Version | None = None) -> bool:
    """Whether a row is about this version (by default the installed one)."""
    version = version or installed()
    return (row.since is None or row.since <= version) and (row.until is None or version < row.until)


def current(*variants: Variant, version: Version | None = None) -> Any:
    """The value of the one variant for the installed torch. LookupError if there is none or several."""
    found = [variant.value for variant in variants if applies(variant, version)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} variants hold for torch {version or installed()}: {variants}")
    return found[0]
