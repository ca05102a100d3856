"""What the prover proves, the checker of files verifies; and nothing but what it needs is in it."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from dynamo_lite.certificates import checker, cross_check
from dynamo_lite.symbolic_shapes.certificates.elaborations import ELABORATIONS
from dynamo_lite.symbolic_shapes.expressions.intervals import ATOM_INTERVALS
from dynamo_lite.symbolic_shapes.proofs import checker as proofs
from tests.certificates.documents import documents, random_programs

FOLDER = Path(checker.__file__).parent
MOST_LINES = 500


def test_every_proof_verifies() -> None:
    rules: Counter[str] = Counter()
    for document in documents():
        checker.verify(document)
        rules.update(rule for rule, *_ in document["steps"])
    known = {*checker.RULES, "given", "cases", "refute"}
    assert set(rules) <= known
    assert len(rules) >= 28 and "rounded share" in rules, sorted(known - set(rules))


def test_guards_of_random_facts_verify() -> None:
    for document in random_programs(40):
        counts = checker.verify(document)
        assert counts["guards"] and counts["facts"]


def test_every_sort_of_claim_is_there() -> None:
    sorts = Counter[str]()
    for document in documents():
        sorts.update({kind: len(rows) for kind, rows in document["proofs"].items()})
    assert all(sorts[kind] >= 10 for kind in ("guards", "facts", "ranges", "decisions")), sorts


@pytest.mark.parametrize("way", cross_check.WAYS)
def test_the_claims_hold_in_another_way_too(way: str) -> None:
    pytest.importorskip("z3") if way == "z3" else None
    counts = Counter[str]()
    for document in (*documents()[::3], *documents()[-16:]):
        counts.update(cross_check.WAYS[way](document))
    assert counts["confirmed"] > 5 * counts["unknown"], counts


def code_lines(source: str) -> int:
    """The lines of a file that are no comment, docstring or blank."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in skipped]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    texts = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len(lines - {line for n in texts for line in range(n.lineno, (n.end_lineno or 0) + 1)})


def test_the_checker_is_small() -> None:
    assert code_lines((FOLDER / "checker.py").read_text(encoding="utf-8")) <= MOST_LINES


def test_it_imports_the_standard_library_alone() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            others = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
            assert others <= ({"z3"} if path.name == "cross_check.py" else set()), path


def test_each_rule_of_the_prover_has_one_here() -> None:
    """By its name, or as steps of others (symbolic_shapes/certificates/elaborations.py)."""
    assert sorted({*proofs.RULES} - {*checker.RULES, "fact"} - {*ELABORATIONS}) == []
    assert sorted({*ATOM_INTERVALS} - {*checker.INTERVALS}) == []
