"""What results of numpy share with its arguments, which a write through one of the two shows, and how they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.export.probe import Case, Probe, equal, promised, refused, sound, t

COPIES: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda a: a.flatten(),
    "astype": lambda a: a.astype(np.float32),
    "conj": np.conj,
    "positive": np.positive,
    "unary_plus": lambda a: +a,
    "fix": np.fix,
    "ascontiguousarray_transposed": lambda a: np.ascontiguousarray(a.T),
    "copy_transposed": lambda a: a.T.copy(),
    "repeat_once": lambda a: np.repeat(a, 1, 0),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "reversed_rows": lambda a: a[::-1],
    "reversed_columns": lambda a: a[:, ::-1],
    "flip": np.flip,
    "fliplr": np.fliplr,
    "rot90": np.rot90,
    "diag": np.diag,
    "ravel": np.ravel,
    "transposed": lambda a: a.T,
    "diagonal": lambda a: a.diagonal(),
    "asanyarray": np.asanyarray,
}


def _written(name: str, make: Callable[[Any], Any], through_result: bool, kind: Callable[..., Probe]) -> Probe:
    def build() -> Any:
        def program(x):
            a = x.clone().numpy()
            b = make(a)
            try:
                if through_result:
                    b += 3
                else:
                    a[0] = 7
            except ValueError:  # numpy's diagonal is read-only
                return x
            return torch.from_numpy(a.copy()), torch.from_numpy(np.ascontiguousarray(b))

        return program, (t(4, 4),)

    build.__name__ = f"{name}_{'result' if through_result else 'source'}_written"
    return kind(build)


for _name, _make in COPIES.items():
    for _result in (False, True):
        globals()[f"copy_{_name}_{_result}"] = _written(_name, _make, _result, equal)
for _name, _make in VIEWS.items():
    for _result in (False, True):
        globals()[f"view_{_name}_{_result}"] = _written(_name, _make, _result, sound("numpy-function"))


@equal
def read_through_a_reversed_view():
    def program(x):
        return torch.from_numpy(x.numpy()[::-1].copy()) + torch.from_numpy(np.ascontiguousarray(np.rot90(x.numpy())))

    return program, (t(4, 4),)


@equal
def negative_strides_in_torch():
    def program(x):
        try:
            return torch.from_numpy(x.numpy()[::-1])
        except ValueError:
            return x * 2

    return program, (t(4, 4),)


@refused("numpy-function")
def tensor_written_after_a_reversed_view():
    def program(x):
        y = x.clone()
        b = y.numpy()[::-1]
        y.add_(1)
        return torch.from_numpy(b.copy())

    return program, (t(4, 4),)


@equal
def item_is_a_number_of_its_own():
    def program(x):
        a = x.clone().numpy()[0]
        first, second, *_ = a
        item = a[0]
        a += 9
        return torch.from_numpy(a) * float(item), x * torch.tensor(first) + torch.tensor(second)

    return program, (t(3, 4),)


@equal
def strides_of_results():
    def program(x):
        a = x.numpy().T
        made = [np.stack([a, a], 1), np.concatenate([a, a], 1), np.roll(a, 1), a.copy(), np.copy(a), np.pad(a, 1)]
        made += [a.astype(np.float64), np.sort(a, 0), np.where(a > 0, a, 0), np.tril(a)]
        return [torch.from_numpy(array) for array in made]

    return program, (t(4, 6),)


@equal
def strides_decide():
    def program(x):
        a = torch.from_numpy(np.stack([x.numpy().T, x.numpy().T]))
        return (a * 2 if a.is_contiguous() else a * 3), torch.from_numpy(x.numpy().T.copy()).view(-1)

    return program, (t(4, 6),)


@equal
def strides_of_results_varying():
    def program(x):
        a = x.numpy().T
        made = [np.stack([a, a], 1), np.concatenate([a, a], 1), np.roll(a, 1), a.copy(), np.ascontiguousarray(a)]
        return [torch.from_numpy(array) for array in made], torch.from_numpy(a).clone()

    return promised(program, t(4, 6), also=(t(9, 6), t(2, 6)))


@equal
def copied_into():
    def program(x):
        a = np.zeros_like(x.numpy())
        np.copyto(a, x.numpy())
        return torch.from_numpy(a)

    return program, (t(4, 6),)


# -- strides and bytes -----------------------------------------------------------------------------------------------


@equal
def strides_and_bytes_of_results() -> Any:
    def f(x: torch.Tensor) -> Any:
        rows = x.numpy()
        columns = np.transpose(rows)[:, ::2]
        copied = np.ascontiguousarray(np.swapaxes(rows, 0, 1))
        return x * columns.strides[1], (columns * 1).strides, copied.strides, rows.nbytes + rows.sum(0).nbytes

    return Case(f, (t(4, 3),), also=[((t(3, 4).t(),), {})])


@equal
def strides_of_sizes_that_vary() -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x.numpy().strides[0] + x.numpy().nbytes

    sizes = ({0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},)
    return Case(f, (t(4, 3),), dynamic_shapes=sizes, also=[((t(5, 7),), {}), ((t(1, 7),), {}), ((t(3, 4).t(),), {})])


@refused("numpy-function")
def strides_that_no_tensor_has() -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x.numpy()[::-1].strides[0]

    return f, (t(4, 3),)


@refused("numpy-function")
def the_interface_of_an_array() -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        array = x.numpy()
        view = np.lib.stride_tricks.as_strided(array, (3, 2), (array.strides[0], array.strides[0]))
        return torch.from_numpy(view.copy())

    return f, (t(4),)
