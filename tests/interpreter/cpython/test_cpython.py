"""Each test method of CPython's own suite that passes natively passes interpreted, or is listed with its reason."""

from __future__ import annotations

import pytest

from tests.interpreter.cpython import harness

_done: dict[str, harness.Comparison] = {}
_modules = [module for module in harness.settings()["modules"] if harness.is_available(module)]


@pytest.mark.parametrize("module", _modules)
def test_methods_pass_interpreted(module: str) -> None:
    comparison = _done[module] = harness.compare(module, [])
    assert comparison.native_passes, f"no method of {module} passes natively: is the module still there?"
    assert not comparison.unlisted


def test_98_percent_pass_over_all_modules() -> None:
    if not _modules:
        pytest.skip("CPython's test suite is not installed")
    if len(_done) < len(_modules):
        pytest.skip("only some of the modules ran in this process")
    total = sum(comparison.native_passes for comparison in _done.values())
    differing = sum(len(comparison.differing) for comparison in _done.values())
    assert (total - differing) / total >= 0.98
