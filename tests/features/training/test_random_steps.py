"""Random steps of training (random_steps.py): equal to eager, or refused for a reason that a first step takes away."""

from __future__ import annotations

import pytest

from .random_steps import verdict

MAY_WAIT = {"refused: kept-gradient", "refused: optimizer-state", "refused: first-step-in-branch"}
"""Refusals that say to take one step before the export."""


def check(seed: int) -> None:
    found = verdict(seed)
    if found in MAY_WAIT:
        found = verdict(seed, before=3)
    assert found == "equal", f"seed {seed}: {found}"


@pytest.mark.parametrize("seed", range(14))
def test_a_random_step_equals_eager(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(14, 500))
def test_more_random_steps_equal_eager(seed: int) -> None:
    check(seed)
