"""Values that only run time knows: programs with them equal eager on other data, and at other sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DataDependent

from .test_python_sizes import assert_same
from .unbacked_programs import PROGRAMS

DATA = ((torch.tensor([3, 1, 2]), 2), (torch.tensor([1, 1, 4]), 3), (torch.tensor([2, 2, 2]), 4))
ONLY_THE_EXAMPLE = {"range_of_an_item"}


def arguments(number: int, rows: int = 6) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(number)
    t, k = DATA[number]
    return torch.randn(rows, 4, generator=generator), t, torch.tensor(k)


def module_of(forward: Any) -> nn.Module:
    class Model(nn.Module):
        def forward(self, x, t, k):
            return forward(x, t, k)

    return Model()


def outcome(run: Any, args: tuple[Any, ...]) -> Any:
    """(value, None) or (None, error)."""
    try:
        return run(*args), None
    except (RuntimeError, IndexError, ValueError, AssertionError) as error:
        return None, error


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_eager_on_other_data(name: str, dynamic: bool) -> None:
    forward = PROGRAMS[name]
    spec = ({0: Dim.AUTO}, None, None) if dynamic else None
    run = dynamo_lite.export(module_of(forward), arguments(0), dynamic_shapes=spec).module()
    calls = [arguments(0), arguments(1), arguments(2)] + ([arguments(1, rows=9)] if dynamic else [])
    equal = 0
    for args in calls:
        want, raised = outcome(forward, args)
        got, refused = outcome(run, args)
        if raised is None and refused is None:
            assert_same(got, want)
            equal += 1
        else:
            assert refused is not None, f"eager raises {raised!r}"
    assert equal >= (1 if name in ONLY_THE_EXAMPLE else 3)


def test_programs_are_many() -> None:
    assert len(PROGRAMS) > 50


@pytest.mark.parametrize(
    "name, bad",
    [
        ("slice_by_a_size", -1),
        ("slice_by_a_size", 5),
        ("index_by_an_item", 6),
        ("checks", 0),
        ("checks", 60),
        ("a_check_answers_a_branch", 1),
        ("a_check_answers_a_branch", 6),
        ("assertion_on_an_item", 7),
        ("assertion_on_a_tensor", -3),
        ("view_by_a_size", 5),
        ("factories", -2),
        ("narrow_from_an_item", 5),
        ("range_of_an_item", 3),
    ],
)
def test_what_is_checked_is_asserted_at_run_time(name: str, bad: int) -> None:
    run = dynamo_lite.export(module_of(PROGRAMS[name]), arguments(0)).module()
    x, t, _ = arguments(0)
    assert outcome(PROGRAMS[name], (x, t, torch.tensor(bad)))[1] is not None
    with pytest.raises((RuntimeError, AssertionError)):
        run(x, t, torch.tensor(bad))


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, t, k: x + len(repr(x)),
        lambda x, t, k: x + x.data_ptr() % 2,
        lambda x, t, k: list(t.nonzero()),
        lambda x, t, k: t.nonzero().tolist(),
        lambda x, t, k: x if bool(k) else x + 1,
        lambda x, t, k: x if k > 1 else x + 1,
        lambda x, t, k: [0] * k.item(),
        lambda x, t, k: {k.item(): x}[2],
        lambda x, t, k: x + len(f"{k.item()}"),
        lambda x, t, k: x + len(str(t.nonzero().shape)),
    ],
    ids=["repr", "data_ptr", "iteration", "tolist", "bool", "branch", "list", "key", "text", "shape"],
)
def test_what_needs_the_data_is_refused(forward: Any) -> None:
    with pytest.raises(DataDependent) as caught:
        dynamo_lite.export(module_of(forward), arguments(0), control_flow="refuse")
    assert caught.value.frame is not None and caught.value.frame.filename == __file__


def test_a_custom_operator_with_a_new_size() -> None:
    @torch.library.custom_op("dynamo_lite_tests::positive", mutates_args=())
    def positive(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].clone()

    @positive.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        size = torch.library.get_ctx().new_dynamic_size()
        return x.new_empty(size)

    def forward(x, t, k):
        y = positive(x)
        return y * 2, y.shape[0]

    run = dynamo_lite.export(module_of(forward), arguments(0)).module()
    for number in range(3):
        assert_same(run(*arguments(number)), forward(*arguments(number)))


def test_text_of_unbacked_values_for_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def forward(x, t, k):
        print(f"{k.item()} of {x[x > 0].shape}", "%d" % k.item())  # noqa: UP031
        return x * k.item()

    run = dynamo_lite.export(module_of(forward), arguments(0)).module()
    assert_same(run(*arguments(1)), forward(*arguments(1)))


def test_an_integer_made_of_a_float_is_no_constant() -> None:
    """A question about int(f) has no symbol that could be enumerated; it is data-dependent all the same."""

    def forward(x, t, k):
        n = int((x.abs().sum() * 0.01).item())
        torch._check(n <= 6)
        return x[:n] if n <= 6 else x, n

    run = dynamo_lite.export(module_of(forward), arguments(0)).module()
    for number in range(3):
        assert_same(run(*arguments(number)), forward(*arguments(number)))
    with pytest.raises(RuntimeError):
        run(arguments(0)[0] + 100, *arguments(0)[1:])


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_what_is_checked_of_a_float_is_asserted_at_run_time(dynamic: bool) -> None:
    def forward(x, t, k):
        scale = x.abs().max().item()
        torch._check(scale < 50.0)
        torch._check(k.item() * scale < 500.0)
        return x * 2 if scale < 50.0 else x, scale / 2

    spec = ({0: Dim.AUTO}, None, None) if dynamic else None
    run = dynamo_lite.export(module_of(forward), arguments(0), dynamic_shapes=spec).module()
    for number in range(3):
        assert_same(run(*arguments(number)), forward(*arguments(number)))
    x, t, k = arguments(0)
    with pytest.raises(RuntimeError):
        run(x + 100, t, k)
    with pytest.raises(RuntimeError):
        run(x, t, k + 10_000)
