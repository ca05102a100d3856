"""Refutation: assume relations, derive, and look for a contradiction; split cases where that does not suffice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Int, Monomial, make_int
from dynamo_lite.symbolic_shapes.expressions.intervals import of_monomial
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    Junction,
    Rel,
    Truth,
    le_zero,
    not_,
    or_,
)
from dynamo_lite.symbolic_shapes.proofs import operator_rules
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.prover.differences import prove_by_chain
from dynamo_lite.symbolic_shapes.prover.elimination import Found, Row, refute_rows, row_of
from dynamo_lite.symbolic_shapes.prover.knowledge import Contradiction
from dynamo_lite.symbolic_shapes.prover.propagation import prove_le
from dynamo_lite.symbolic_shapes.prover.tables import Bound

if TYPE_CHECKING:
    from dynamo_lite.symbolic_shapes.prover.knowledge import Knowledge

MAX_FORMS = 16
"""How many known forms a refutation looks at, those nearest to the question first."""
MAX_ATOMS = 24
MAX_SPLITS = 3
"""How deep case splits nest."""
BUDGET = 800
"""Elementary inferences that one question may cost; then the answer is "unknown". A count, so the same everywhere."""
PATIENCE = 16_000
"""Inferences that refutations of one environment may make without a result; then a question gets a tenth of its budget.
Otherwise a program whose questions have no provable answers (products of quotients, mostly) takes too long."""
SMALL = 6
"""A range with at most this many values is worth a case each."""


def refute(known: Knowledge, relation: Bool, splits: int = MAX_SPLITS) -> Step | None:
    """A step that shows the negation of a relation, by contradiction."""
    if known.limit is None:
        before = known.steps
        known.limit = before + (BUDGET if known.in_vain < PATIENCE else BUDGET // 10)
        try:
            contradiction = _contradiction(known, relation, splits)
        finally:
            known.limit = None
        if contradiction is None:
            known.in_vain += known.steps - before
    else:
        contradiction = _contradiction(known, relation, splits)
    return Step("refute", (contradiction,), (relation,)) if contradiction else None


def _contradiction(known: Knowledge, relation: Bool, splits: int) -> Step | None:
    """A step that concludes FALSE, with `relation` assumed."""
    with known.trial() as focus:
        try:
            known.derive(relation, Step("assume", (), (relation,)))
        except Contradiction as clash:
            return clash.step
        count = [0]
        try:
            rows = list(_rows(known, focus))
        except Found as found:
            return found.step
        step = refute_rows(rows, count) if _worthwhile(rows) else None
        known.steps += count[0]
        if step is None and splits > 0:
            step = _by_cases(known, focus, rows, splits)
        return step


def _worthwhile(rows: list[Row]) -> bool:
    """Bounds of single variables alone imply nothing together that asserting them has not derived."""
    return any(len(row.terms) > 1 for row in rows)


# -- the system ---------------------------------------------------------------------------------------------
def _rows(known: Knowledge, focus: dict[Atom, None]) -> Iterator[Row]:
    """The rows about the atoms in focus and their neighbours: known forms, definitions of operators, bounds."""
    seen: dict[Int, None] = {}
    atoms = dict.fromkeys(focus)
    monomials: dict[Monomial, None] = {}
    pending = list(atoms)
    rows: list[Row] = []
    while pending and len(seen) < MAX_FORMS and len(atoms) < MAX_ATOMS:
        atom = pending.pop(0)
        known.steps += 1
        new = _rows_of_atom(known, atom)
        for form in known.forms_near(atom):
            if form not in seen and len(seen) < MAX_FORMS:
                seen[form] = None
                new += _rows_of_form(known, form)
                for other in form.atoms():  # an operator that the atom is inside of, bounded itself
                    if other not in atoms:
                        atoms[other] = None
                        pending.append(other)
        for row in new:
            for mono in row.terms:
                if len(mono) > 1:
                    monomials[mono] = None
                for other in mono:
                    if other not in atoms:
                        atoms[other] = None
                        pending.append(other)
        rows += new
    yield from rows
    yield from _bound_rows(known, atoms)
    yield from _product_rows(known, monomials, rows)


def _rows_of_form(known: Knowledge, form: Int) -> list[Row]:
    if form.as_atom() is not None:
        return []
    rows = []
    hi, lo = known.upper.get(form), known.lower.get(form)
    product = any(len(mono) > 1 for mono in form.terms)
    for bound, p in ((hi, form - hi.value if hi else form), (lo, lo.value - form if lo else form)):
        if bound is None:
            continue
        rows.append(row_of(p, bound.step))
        if product:  # a factor may have another image by now, and its equation does not apply to products
            rows += _rewritten_row(known, p, bound.step)
    if hi and lo and hi.value == lo.value:
        rows.append(row_of(form - hi.value, Step("both", (hi.step, lo.step)), equation=True))
    return rows


def _rewritten_row(known: Knowledge, p: Int, step: Step) -> list[Row]:
    relation = le_zero(p)
    changed, shown = known.rewriter.rewritten(relation, step)
    if changed is relation or changed is TRUE:
        return []
    if changed is FALSE:
        raise Found(shown)
    return [row_of(changed.poly, shown)] if isinstance(changed, Rel) else []


def _bound_rows(known: Knowledge, atoms: dict[Atom, None]) -> Iterator[Row]:
    for atom in atoms:
        lo, hi = known.range(atom)
        if isinstance(lo, int):
            yield row_of(lo - atom.as_int(), known._end(atom, "lo"))
        if isinstance(hi, int):
            yield row_of(atom.as_int() - hi, known._end(atom, "hi"))


def _rows_of_atom(known: Knowledge, atom: Atom) -> list[Row]:
    """The rows by the definition of an operator; the equation if the atom equals something simpler."""
    rows: list[Row] = []
    image, shown = known.rewriter.image(atom)  # known forms may still speak of an atom that has another image by now
    if shown is not None:
        rows.append(row_of(atom.as_int() - image, shown, equation=True))
    if not isinstance(atom, Apply):
        return rows
    if atom.op == "floordiv":
        d = atom.args[1]
        assert isinstance(d, Int)
        sign, premises = _sign(known, d)
        if sign:
            halves = operator_rules.division_bounds(atom, sign)
            rows += [row_of(p, Step("floordiv bound", premises, (atom, side)))
                     for side, p in enumerate(halves) if p.terms]
    elif atom.op == "max":
        rows += [row_of(arg - atom.as_int(), Step("max above", (), (atom, i)))  # type: ignore[operator]
                 for i, arg in enumerate(atom.args)]
    elif (whole := operator_rules.rounded_share(atom)) is not None and (step := prove_le(known, -whole)):
        rows.append(row_of(atom.as_int() - whole, Step("rounded share", (step,), (atom,))))
    return rows


def _sign(known: Knowledge, d: Int) -> tuple[int, tuple[Step, ...]]:
    if not d.terms:
        return (d.const > 0) - (d.const < 0), ()
    for sign in (1, -1):
        step = prove_le(known, 1 - d * sign)
        if step:
            return sign, (step,)
    return 0, ()


def _product_rows(known: Knowledge, monomials: dict[Monomial, None], rows: list[Row]) -> Iterator[Row]:
    """The bounds of products, and inequalities multiplied by a factor that is not negative."""
    for mono in list(monomials)[:8]:
        lo, hi = of_monomial(mono, known.range)
        p = make_int({mono: 1}, 0)
        for q, end in ((p, hi), (-p, -lo)):
            if isinstance(end, int):
                yield row_of(q - end, Step("interval", known.bound_premises(q), (q,)))
        yield from _multiplied(known, mono, monomials, rows)


def _multiplied(known: Knowledge, mono: Monomial, monomials: dict[Monomial, None], rows: list[Row]) -> Iterator[Row]:
    made = 0
    for factor in dict.fromkeys(mono):
        bound = _nonnegative(known, factor)
        if bound is None:
            continue
        rest = list(mono)
        rest.remove(factor)
        for row in [*rows, *_bound_rows(known, dict.fromkeys(rest))]:
            if made >= 12:
                return
            if tuple(rest) not in row.terms or row.equation:
                continue
            made += 1
            # p <= 0 and lo - factor <= 0 give  p * (lo - factor) >= 0
            p = make_int(row.terms, row.const) * (bound.value - factor.as_int())
            yield row_of(-p, Step("product", (row.step, bound.step)))


def _nonnegative(known: Knowledge, atom: Atom) -> Bound | None:
    lo, _ = known.range(atom)
    return Bound(lo, known._end(atom, "lo")) if isinstance(lo, int) and lo >= 0 else None


# -- cases --------------------------------------------------------------------------------------------------
def _by_cases(known: Knowledge, focus: dict[Atom, None], rows: list[Row], splits: int) -> Step | None:
    tried = 0
    for shown, alternatives in _splits(known, focus, rows):
        if any((found := known.quick(case)) is not None and found[0] for case in alternatives):
            continue  # the case that we are in
        if tried >= splits or (known.limit is not None and known.steps > known.limit):
            return None
        tried += 1
        branches = []
        for case in alternatives:
            branch = _contradiction(known, case, splits - 1)
            if branch is None:
                break
            branches.append(branch)
        else:
            if shown is None:
                return Step("cases", tuple(branches), (alternatives[0],))
            return Step("cases", (shown, *branches))
    return None


Split = tuple[Step | None, tuple[Bool, ...]]


def _splits(known: Knowledge, focus: dict[Atom, None], rows: list[Row]) -> Iterator[Split]:
    """Ways to split: (step that shows the disjunction, its parts), or (None, (relation, its negation))."""
    atoms = dict.fromkeys([*focus, *(a for row in rows for m in row.terms for a in m)])
    for atom in atoms:
        for clause in known.clauses_of.get(atom, ()):
            yield known.truths[clause], clause.args  # type: ignore[misc]
    for atom in atoms:
        form = atom.as_int()
        for value, step in known.excluded.get(form, {}).items():
            lo, hi = known.range(atom)
            if lo < value < hi:
                yield from _disjunction(Step("apart", (step,)), [le_zero(form - value + 1), le_zero(value + 1 - form)])
    for form in dict.fromkeys(f for a in atoms for f in known.forms_near(a)):
        if form.as_atom() is None:
            for value, step in known.excluded.get(form, {}).items():
                yield from _disjunction(Step("apart", (step,)), [le_zero(form - value + 1), le_zero(value + 1 - form)])
    yield from _operator_cases(known, atoms, rows)
    yield from _divisor_signs(known, atoms)
    yield from _small_ranges(known, atoms)


def _operator_cases(known: Knowledge, atoms: dict[Atom, None], rows: list[Row]) -> Iterator[Split]:
    """The cases of a max or a choice; last a max whose upper end is not needed: it is above its arguments anyway."""
    open_ = [a for a in atoms if isinstance(a, Apply) and a.op in ("max", "ite") and a not in known.solved]
    asked = _bounded_below(rows)
    for atom in sorted(open_, key=lambda a: a.op == "max" and a not in asked):
        if atom.op == "max":
            yield from _disjunction(Step("max cases", (), (atom,)), operator_rules.max_cases(atom))
        else:
            yield from _disjunction(Step("ite cases", (), (atom,)), operator_rules.ite_cases(atom))


def _bounded_below(rows: list[Row]) -> set[Atom]:
    """The atoms with a row that states a lower bound by another expression (a max above its own arguments does not
    count), and those in products."""
    found: set[Atom] = set()
    for row in rows:
        if len(row.terms) < 2:
            continue
        own = row.step.data[0] if row.step.rule == "max above" else None
        for mono, coef in row.terms.items():
            if (coef < 0 or row.equation or len(mono) > 1) and mono[0] is not own:
                found.update(mono)
    return found


def _divisor_signs(known: Knowledge, atoms: dict[Atom, None]) -> Iterator[Split]:
    """A quotient by an expression of unknown sign has known properties only once the sign is known."""
    for atom in atoms:
        if isinstance(atom, Apply) and atom.op == "floordiv" and atom not in known.solved:
            d = atom.args[1]
            assert isinstance(d, Int)
            lo, hi = known.bounds(d)
            if lo <= 0 <= hi:
                low = le_zero(d)
                yield None, (low, not_(low))


def _small_ranges(known: Knowledge, atoms: dict[Atom, None]) -> Iterator[Split]:
    for atom in atoms:
        lo, hi = known.range(atom)
        if isinstance(lo, int) and isinstance(hi, int) and 0 < hi - lo < SMALL:
            low = le_zero(atom.as_int() - (lo + hi) // 2)
            yield None, (low, not_(low))
        elif lo < 0 < hi and _in_product(atom, known):
            low = le_zero(atom.as_int())
            yield None, (low, not_(low))


def _in_product(atom: Atom, known: Knowledge) -> bool:
    return any(len(m) > 1 and atom in m for f in known.forms_near(atom) for m in f.terms)


def _disjunction(shown: Step, parts: list[Bool]) -> Iterator[Split]:
    whole = or_(*parts)
    if isinstance(whole, Junction):
        yield shown, whole.args  # type: ignore[misc]


# -- the two halves of a question ------------------------------------------------------------------------------
def prove(known: Knowledge, relation: Bool) -> Step | None:
    """A step for a simplified relation: by a chain of differences, or by refuting its negation."""
    if isinstance(relation, Truth):
        return Step("normal form") if relation.value else None
    if isinstance(relation, Rel):
        if relation.kind == "le":
            return prove_by_chain(known, relation.poly) or refute(known, not_(relation))
        if relation.kind == "eq":
            p = relation.poly
            above = prove_le(known, p) or prove(known, le_zero(p))
            below = (prove_le(known, -p) or prove(known, le_zero(-p))) if above else None
            if above and below:
                return Step("both", (above, below))
            return None
    if isinstance(relation, Junction) and relation.kind == "and":
        parts = [prove(known, part) for part in relation.args]  # type: ignore[arg-type]
        return Step("all", tuple(p for p in parts if p)) if all(parts) else None
    return refute(known, not_(relation))
