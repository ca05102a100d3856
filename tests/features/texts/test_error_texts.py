"""What a program reads of an error that it catches is what eager says, or it is refused."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.capture.operator_rules import table as operator_rules
from dynamo_lite.errors import GraphBreak

Program = Callable[[Tensor], Any]


def _tries(call: Program, of: Callable[[Exception], Any] = str) -> Program:
    def program(x: Tensor) -> Any:
        try:
            return call(x), ""
        except Exception as error:  # the kind is what eager is asked for, too
            return x + 1, type(error).__name__, of(error)

    return program


def _asked(x: Tensor) -> Tensor:
    try:
        return F.linear(x, torch.ones(2, 5))
    except RuntimeError as error:
        return x + 1 if "mat1 and mat2" in str(error) else x + 2


def _said_again(x: Tensor) -> Any:
    try:
        try:
            return x @ torch.ones(5, 5)
        except RuntimeError as error:
            raise ValueError(f"inner: {error}") from error
    except ValueError as error:
        return x + 1, str(error)


def _first_that_fits(x: Tensor) -> Any:
    errors = []
    for weight in (torch.ones(5), torch.ones(3)):
        try:
            return x @ weight, len(errors)
        except RuntimeError as error:
            errors.append(error)
    raise ValueError(errors)


KNOWN: dict[str, Program] = {
    "matmul": _tries(lambda x: x @ torch.ones(5, 5)),
    "f-string": _tries(lambda x: x @ torch.ones(5, 5), lambda e: f"{e}"),
    "repr": _tries(lambda x: torch.cat([x, x[:, :1, None]]), repr),
    "args": _tries(lambda x: x.view(x.shape[0], 2, -1), lambda e: e.args),
    "traceback": _tries(lambda x: x + torch.ones(7), lambda e: traceback.format_exception_only(e)[-1]),
    "view": _tries(lambda x: x.view(7, 7)),
    "conv": _tries(lambda x: F.conv1d(x, torch.ones(2, 2, 2))),
    "expand": _tries(lambda x: torch.zeros(3).expand(x.shape[0], 5)),
    "layer_norm": _tries(lambda x: F.layer_norm(x, [5])),
    "a leaf in place": _tries(lambda x: torch.ones(3, requires_grad=True).add_(x.sum())),
    "vmap": _tries(torch.vmap(lambda row: row @ torch.ones(5))),
    "not implemented": _tries(lambda x: F.pad(x[None, None], (1, 1), mode="reflect")),
    "not implemented for three": _tries(lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), repr),
    "python": _tries(lambda x: F.cross_entropy(x, torch.zeros(5, dtype=torch.long))),
    "a branch": _asked,
    "said again": _said_again,
    "counted": _first_that_fits,
}


def _equal(got: Any, expected: Any) -> bool:
    return torch.equal(got, expected) if isinstance(got, Tensor) else bool(got == expected)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("how", KNOWN)
def test_the_text_is_eagers(how: str, dynamic: bool) -> None:
    x = torch.randn(4, 3)
    shapes = ({0: Dim.AUTO},) if dynamic else None
    exported = dynamo_lite.export(KNOWN[how], (x,), dynamic_shapes=shapes)
    assert all(map(_equal, *map(pytree.tree_leaves, (exported.module()(x), KNOWN[how](x)))))


@torch.library.custom_op("dynamo_lite_tests::picky", mutates_args=())
def _picky(x: Tensor) -> Tensor:
    raise RuntimeError("no, says the kernel")


@_picky.register_fake
def _(x: Tensor) -> Tensor:
    raise RuntimeError("no, says the fake kernel")


UNKNOWN: dict[str, Program] = {
    "run-time sizes": _tries(lambda x: x.nonzero() @ torch.ones(5, 5, dtype=torch.int64)),
    "class of a stand-in": _tries(lambda x: x / "a"),  # type: ignore[operator]
    "size in torch's Python": _tries(lambda x: F.interpolate(x[None, None], size=(3, 3, 3))),
    "size in a binding": _tries(lambda x: x[7]),
    "custom operator": _tries(_picky),
}


@pytest.mark.parametrize("how", UNKNOWN)
def test_a_text_that_eager_may_word_otherwise_is_refused(how: str) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(UNKNOWN[how], (torch.randn(4, 3),), dynamic_shapes=({0: Dim.AUTO},))
    assert caught.value.id == "error-text"
    assert caught.value.frames


def test_a_text_without_numbers_fixes_no_size() -> None:
    program = _tries(lambda x: x.masked_fill(x, 1))
    exported = dynamo_lite.export(program, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("b")},))
    y = torch.randn(9, 3)
    assert exported.module()(y)[2] == program(y)[2]


def test_unread_texts_cost_nothing() -> None:
    def program(x: Tensor) -> Tensor:
        try:
            return x.reshape(x.shape[0], 5)
        except RuntimeError as error:
            logging.getLogger(__name__).info("no: %s", error)
            warnings.warn(f"no: {error}", stacklevel=1)
            return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = dynamo_lite.export(program, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("b")},))
        y = torch.randn(9, 3)
        torch.testing.assert_close(exported.module()(y), y + 1)


def test_a_kernel_that_only_stand_ins_lack_is_no_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager does not fail: the program must not go another way."""
    monkeypatch.setattr(operator_rules, "OFF", True)
    monkeypatch.setitem(torch.ops.aten.sinh.default.py_kernels, torch._C.DispatchKey.Meta, _fails)
    torch.ops.aten.sinh.default._dispatch_cache.clear()
    try:
        with pytest.raises(GraphBreak, match="cannot be run on tensors without data"):
            dynamo_lite.export(_tries(torch.sinh), (torch.randn(4, 3),))
    finally:
        torch.ops.aten.sinh.default._dispatch_cache.clear()


def _fails(x: Tensor) -> Tensor:
    raise RuntimeError("not implemented for stand-ins")


def test_an_error_of_eager_is_the_errors_class() -> None:
    """It was refused as an operator without a kernel for stand-ins."""

    def program(x: Tensor) -> Tensor:
        return F.pad(x[None, None], (1, 1), mode="reflect")

    for raising in (program, lambda x: dynamo_lite.export(program, (x,))):
        with pytest.raises(NotImplementedError, match="Padding size 2 is not supported for 4D") as caught:
            raising(torch.randn(4, 3))
        assert not isinstance(caught.value, GraphBreak)


def test_the_programs_own_words_are_what_they_are() -> None:
    kept = ValueError("kept: SymInt")

    def program(x: Tensor) -> Any:
        said = []
        for raised in (ValueError(f"of {x.dtype}: s0, no FakeTensor"), kept):
            try:
                raise raised
            except ValueError as error:
                said.append(str(error))
        return x + len(said[0]), said[0], said[1]

    x = torch.randn(4, 3)
    exported = dynamo_lite.export(program, (x,), dynamic_shapes=({0: Dim("b")},))
    assert exported.module()(x)[1:] == program(x)[1:]
    assert type(kept.args[0]) is str


class TooMany(Exception):
    pass


def _of_an_f_string(x: Tensor) -> Tensor:
    if x.isnan().any():
        raise TooMany(f"{x.isnan().sum().item()} of {x.numel()} rows")
    return x


def _of_a_merged_number(x: Tensor) -> Tensor:
    n = int(x[0].item())
    if n < 0:
        n += 2
    if not 0 <= n < 2:
        raise ValueError(f"row {n} of {x.dtype}")
    return x + n


def _of_a_number(x: Tensor) -> Tensor:
    n = x.sum().item()
    if n < 0:
        raise ValueError(f"the sum is {n:.2f}, not positive")
    return x * n


@pytest.mark.parametrize(
    "program, bad, words",
    [
        (_of_an_f_string, torch.nan, r"^TooMany: \.\.\. of \.\.\. rows$"),
        (_of_a_merged_number, -3.0, r"ValueError: row \.\.\. of torch.float32$"),
        (_of_a_number, -1.0, r"from torch\._check .*`if n < 0:` \(ValueError: the sum is \.\.\., not positive\)"),
    ],
)
def test_an_error_under_a_condition_on_data_has_the_known_words(program: Program, bad: float, words: str) -> None:
    exported = dynamo_lite.export(program, (torch.ones(3),)).module()
    assert torch.equal(exported(torch.ones(3)), program(torch.ones(3)))
    with pytest.raises(RuntimeError, match=words):
        exported(torch.full((3,), bad))
