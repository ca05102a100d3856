"""numpy code on tensors: the program equals eager numpy in values and dtypes, or is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak

SCALES = np.arange(4.0, dtype=np.float32)


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def example() -> torch.Tensor:
    return torch.linspace(-2, 3, 12).reshape(3, 4)


def equals_eager(function: Callable[[torch.Tensor], Any], x: torch.Tensor, dynamic_shapes: Any = None) -> None:
    program = dynamo_lite.export(Call(function), (x.clone(),), dynamic_shapes=dynamic_shapes)
    given, expected = x.clone() + 1, x.clone() + 1
    torch.testing.assert_close(program.module()(given), function(expected))
    torch.testing.assert_close(given, expected)


def refusal(function: Callable[[torch.Tensor], Any]) -> str:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(Call(function), (example(),))
    return caught.value.id


def functions(x: torch.Tensor) -> Any:
    a = x.numpy()
    return torch.from_numpy(np.sin(a) + np.cos(a) * 2), torch.from_numpy(np.where(a > 0, a, 0).sum(axis=1))


def constants(x: torch.Tensor) -> Any:
    a = x.numpy()
    return torch.from_numpy(SCALES * a + a * SCALES - np.float32(3) * a), torch.from_numpy(a * np.float64(2))


def joined(x: torch.Tensor) -> Any:
    a = np.asarray(x)
    return torch.tensor(np.concatenate([a, a[:, ::-1]], 1)), torch.as_tensor(np.stack([row * 2 for row in a]))


def memory(x: torch.Tensor) -> Any:
    a = x.numpy()
    a[0] = 5
    a += 1
    return x * 2


def questions(x: torch.Tensor) -> Any:
    a = x.numpy()
    same = isinstance(a, np.ndarray) and type(a) is np.ndarray and a.dtype == np.float32
    return x + 1 if same and a.dtype == np.zeros_like(a).dtype else x - 1


def integers(x: torch.Tensor) -> Any:
    a = x.int().numpy()
    return torch.from_numpy(a / 3), torch.from_numpy(a // 2), torch.from_numpy(np.true_divide(7, a * a + 1))


def gradients(x: torch.Tensor) -> Any:
    try:
        (x * torch.ones(4, requires_grad=True)).numpy()
    except RuntimeError:
        return x + 1
    return x


def scalar(x: torch.Tensor) -> Any:
    return x * float(x.numpy()[0, 0])


def dtypes(x: torch.Tensor) -> Any:
    a = x.numpy()
    return torch.from_numpy(a.astype(np.int64)), torch.from_numpy(np.mean(a, dtype=np.float64, keepdims=True))


def into_torchs_python(x: torch.Tensor) -> Any:
    lengths = (x[:, 0] * 0 + 2).long().numpy()  # torch.as_tensor, called in a library function, once read its memory
    return torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)[0]


def lists(x: torch.Tensor) -> Any:
    a = x.numpy()
    return torch.tensor([a, a * 2]), torch.as_tensor((a[0],)), torch.tensor([a.sum(), a.max()])


PROGRAMS = [*(functions, constants, joined, memory, questions, integers, gradients, scalar, dtypes),
            *(into_torchs_python, lists)]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_equals_eager(function: Callable[[torch.Tensor], Any]) -> None:
    equals_eager(function, example())


def test_sizes_may_vary() -> None:
    def program(x: torch.Tensor) -> Any:
        a = x.numpy()
        return torch.from_numpy((a - a.mean(axis=0)).reshape(-1, a.shape[0]))

    exported = dynamo_lite.export(Call(program), (example(),), dynamic_shapes=({0: Dim("n", min=1)},))
    other = torch.randn(7, 4)
    torch.testing.assert_close(exported.module()(other), program(other))


def returned(x: torch.Tensor) -> Any:
    return [x.numpy()]


def reduce(x: torch.Tensor) -> Any:
    return torch.from_numpy(np.add.reduce(x.numpy()))


def into_numpys_own(x: torch.Tensor) -> Any:
    b = np.zeros((3, 4))
    b[0] = x.numpy()[0]
    return torch.from_numpy(b)


def other_dtype(x: torch.Tensor) -> Any:
    return torch.from_numpy(x.to(torch.uint8).numpy().sum(0))  # uint64 in numpy


def constant_changed(x: torch.Tensor) -> Any:
    b = np.ones(4, dtype=np.float32)
    y = torch.from_numpy(x.numpy() * b)
    b[0] = 7
    return y


def mixed(x: torch.Tensor) -> Any:
    return x + x.numpy()  # a tensor, in numpy


def text(x: torch.Tensor) -> Any:
    return x, str(x.numpy())


def read_by_torch(x: torch.Tensor) -> Any:
    return torch.Tensor(x.numpy())


def handed_over(x: torch.Tensor) -> Any:
    return torch.from_dlpack(x.numpy())


def nested(x: torch.Tensor) -> Any:
    return torch.tensor([[x.numpy()], [x.numpy()]])


def list_read_by_torch(x: torch.Tensor) -> Any:
    return torch.FloatTensor([x.numpy()])


def random_numbers(x: torch.Tensor) -> Any:
    return torch.from_numpy(np.random.rand(3, 4)) + x


REFUSED = [
    (read_by_torch, "numpy-function"),
    (handed_over, "numpy-function"),
    (nested, "numpy-function"),
    (list_read_by_torch, "numpy-function"),
    (random_numbers, "unrecordable-value"),
    (returned, "numpy-output"),
    (reduce, "numpy-function"),
    (into_numpys_own, "numpy-function"),
    (other_dtype, "numpy-function"),
    (constant_changed, "constant-mutated"),
    (mixed, "numpy-function"),
    (text, "tensor-repr"),
]


@pytest.mark.parametrize("function, id", REFUSED, ids=lambda v: getattr(v, "__name__", None))
def test_refused(function: Callable[[torch.Tensor], Any], id: str) -> None:
    assert refusal(function) == id


def test_the_class_is_torchs_again() -> None:
    import torch._numpy as arrays

    before = dict(vars(arrays.ndarray))
    dynamo_lite.export(Call(functions), (example(),))
    refusal(reduce)
    assert dict(vars(arrays.ndarray)) == before


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, np.maximum, np.minimum]
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_]
OTHERS = st.one_of(
    st.sampled_from([2, -3, 1.5, True]),
    st.builds(lambda dtype: dtype(1), st.sampled_from(DTYPES)),
    st.builds(lambda dtype: np.array([1, 0, 3, 1]).astype(dtype), st.sampled_from(DTYPES)),
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(OPERATORS), st.sampled_from(DTYPES), OTHERS, st.booleans())
def test_operators_promote_as_numpys(op: Any, dtype: Any, other: Any, swapped: bool) -> None:
    """A refusal is no failure; another value or dtype than numpy's is."""

    def program(x: torch.Tensor) -> Any:
        a = x.numpy()
        return torch.from_numpy(op(other, a) if swapped else op(a, other))

    x = torch.from_numpy(np.array([[1, 2, 3, 5], [2, 1, 7, 1]]).astype(dtype))
    with np.errstate(all="ignore"):
        try:
            expected = program(x)
        except (TypeError, OverflowError):
            return
        try:
            exported = dynamo_lite.export(Call(program), (x.clone(),))
            given = exported.module()(x.clone())
        except (GraphBreak, TypeError, RuntimeError, OverflowError):
            return
    torch.testing.assert_close(given, expected, equal_nan=True)


LINALG: dict[str, Callable[[Any], Any]] = {
    "inv": np.linalg.inv,
    "pinv": np.linalg.pinv,
    "solve": lambda a: np.linalg.solve(a, a),
    "cholesky": np.linalg.cholesky,
    "qr": np.linalg.qr,
    "eigh": np.linalg.eigh,
    "svd": np.linalg.svd,
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "matrix_power": lambda a: np.linalg.matrix_power(a, -2),
    "slogdet": np.linalg.slogdet,
}


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("name", LINALG)
def test_results_of_linalg_lie_as_numpys_do(name: str, shape: tuple[int, ...]) -> None:
    """torch's lie by columns. Numpy is asked on ones, for which `inv` and its like raise: singular."""

    def function(x: torch.Tensor) -> Any:
        found = LINALG[name](x.numpy())
        parts = found if isinstance(found, tuple) else [found]
        tensors = [torch.as_tensor(part) for part in parts]
        return tensors, [tensor.stride() for tensor in tensors]

    x = torch.eye(3) * 4 + torch.linspace(0, 1, 9).reshape(3, 3).mT @ torch.linspace(0, 1, 9).reshape(3, 3)
    x = x.mT @ x if len(shape) == 2 else torch.stack([x.mT @ x, x @ x.mT * 2])
    program = dynamo_lite.export(Call(function), (x.clone(),))
    (got, strides), (want, expected) = program.module()(x.clone()), function(x.clone())
    assert [*map(tuple, strides)] == [*map(tuple, expected)]
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
