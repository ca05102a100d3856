"""The examination: findings in the order of how much they cost, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dynamo_lite.doctor import contracts, manifest
from dynamo_lite.doctor.names import named
from dynamo_lite.doctor.resolve import MISSING, resolve
from dynamo_lite.doctor.tables import PrivateTable, entries
from dynamo_lite.symbolic_shapes.torch_versions import applies
from dynamo_lite.symbolic_shapes.torch_versions.supported import CHECKED, installed, parse, version_text


class Finding(NamedTuple):
    """kind: "missing", "moved" (another kind or signature) or "behaves otherwise"; `costs`: what does not work."""

    kind: str
    name: str
    where: str
    text: str
    costs: str


class Examination(NamedTuple):
    """counts: how many names and contracts were looked at; `compared_with` the version of the manifest, if any."""

    counts: dict[str, int]
    compared_with: str
    findings: list[Finding]


def examine(with_contracts: bool = True) -> Examination:
    """Look up every row of every table and every name that rules are keyed by; run the contracts too."""
    version = installed()
    rows = [entry for entry in entries() if applies(entry.symbol)]
    strings = named()
    found = {name: resolve(name) for name in sorted({row.symbol.name for row in rows} | set(strings))}
    base = manifest.baseline(version)
    before = {} if base is None else manifest.read(base)
    findings = [*_of_rows(rows, found, before), *_of_names(strings, found, before)]
    counts = {"rows": len(rows), "names of rules": len(strings), "contracts": 0}
    if with_contracts:
        counts["contracts"] = len(contracts.CONTRACTS)
        findings += [
            Finding("behaves otherwise", row.name, "dynamo_lite/doctor/contracts.py", text, row.costs)
            for row, text in contracts.broken()
        ]
    return Examination(counts, "no manifest" if base is None else f"{base[0]}.{base[1]}", findings)


def _of_rows(rows: list[PrivateTable], found: dict[str, str], before: dict[str, str]) -> Iterator[Finding]:
    for row in rows:
        name, now = row.symbol.name, found[row.symbol.name]
        was = before.get(name, now)
        if now.startswith(MISSING):
            yield Finding("missing", name, row.file, f"for {row.symbol.purpose}", row.disables)
        elif now != was:
            yield Finding("moved", name, row.file, f"was {was}, is {now}", row.disables)


_UNSET = "NoneType"
"""The kind of a variable of torch's that is set on first use."""


def _of_names(strings: Mapping[str, str], found: dict[str, str], before: dict[str, str]) -> Iterator[Finding]:
    for name, file in strings.items():
        now = found[name]
        was = before.get(name, now)
        if now.startswith(MISSING) and not was.startswith(MISSING):
            yield Finding("missing", name, file, now, "the rule for it is never asked")
        elif now != was and _UNSET not in (now, was):
            yield Finding("moved", name, file, f"was {was}, is {now}", "the rule for it may not fit")


def write(examination: Examination) -> int:
    """Print the examination. Returns how many findings there are."""
    counts = ", ".join(f"{count} {what}" for what, count in examination.counts.items())
    state = "tested" if any(parse(v) == installed() for v in CHECKED) else "not tested"
    print(f"torch {version_text()} ({state}; tested: {', '.join(CHECKED)}); manifest: {examination.compared_with}")
    print(f"looked at: {counts}")
    if not examination.findings:
        print("nothing is missing, nothing has moved")
    else:
        _table(examination.findings)
    return len(examination.findings)


def _table(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table

    table: Any = Table("what", "name", "finding", "consequence")
    for finding in findings:
        table.add_row(finding.kind, f"{finding.name}\n({finding.where})", finding.text, finding.costs)
    Console().print(table)
