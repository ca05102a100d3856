"""Random programs equal eager on inputs that take many ways, or are refused: none is wrong, none fails."""

from __future__ import annotations

import pytest

from tests.control_flow.random_programs import CALLS, ENDED, FILTERED, GRADIENTS, JOINS, SIZES, outcome

FOUND = (50_032, 100_080, 100_164, 100_225, 172_116, 432_046, 437_012, 510_005, 510_009, 600_089, 600_241, 600_268)
"""Seeds that were wrong, failed, or did not end."""


SEEDS = (
    *(*range(10), *range(SIZES, SIZES + 5), *range(FILTERED, FILTERED + 8)),
    *(*range(ENDED, ENDED + 4), *range(GRADIENTS, GRADIENTS + 4)),
    *(*range(CALLS, CALLS + 16), *range(JOINS, JOINS + 12)),
)


@pytest.mark.parametrize("seed", [*SEEDS, *FOUND])
def test_is_never_wrong(seed: int) -> None:
    result, why = outcome(seed)
    assert result in ("equal", "refused", "raises", "late"), why


@pytest.mark.long
@pytest.mark.parametrize(
    "first",
    [
        *(*range(1000, 2000, 50), *range(SIZES, SIZES + 1000, 50), *range(FILTERED, FILTERED + 500, 50)),
        *(*range(ENDED, ENDED + 500, 50), *range(GRADIENTS, GRADIENTS + 500, 50)),
        *(*range(CALLS, CALLS + 500, 50), *range(JOINS, JOINS + 500, 50)),
    ],
)
def test_many_are_never_wrong(first: int) -> None:
    found = {seed: outcome(seed) for seed in range(first, first + 50)}
    assert {seed: row for seed, row in found.items() if row[0] in ("wrong", "failed")} == {}
    assert sum(result == "equal" for result, _ in found.values()) > 4
