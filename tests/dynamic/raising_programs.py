"""Programs that raise on some data: `RAISE` lets it out, `BRANCH` may catch it. (pytest rewrites asserts in tests.)"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, distributions
from torch.nn import functional


class Negative(ValueError):
    def __init__(self, what: str, count: int) -> None:
        super().__init__(what, count)


@contextlib.contextmanager
def region() -> Iterator[None]:
    yield


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.nullcontext():
        try:
            yield
        except ValueError:
            pass


@contextlib.contextmanager
def quiet_within() -> Iterator[None]:
    with quiet():
        yield


def message(x: Tensor) -> Tensor:
    if (x < 0).any():
        raise ValueError(f"negative: {x.min()} of {x.shape}")
    return x.sqrt()


def message_with_a_choice(x: Tensor, limit: int | None = None) -> Tensor:
    found = len(torch.unique(x[x < 0]))
    if found > 0:
        raise ValueError(
            f"{found} of {'any' if limit is None else limit + 1} are negative, {x.min() if limit else x.dtype}"
            f"{'' if x.dim() > 1 else f' ({found - 1})'}"
        )
    return x + 1


def class_alone(x: Tensor) -> Tensor:
    if (x >= 0).all():
        y = x.sqrt()
    else:
        raise RuntimeError
    return y


def several_conditions(x: Tensor, checked: bool = True) -> Tensor:
    if checked and ((x < 0).any() or x.sum() > 1e9):
        raise Negative("negative", len(x))
    return x.sqrt()


def in_regions(x: Tensor) -> Tensor:
    with torch.no_grad(), region():
        if not (x >= 0).all():
            raise ValueError("negative")
        return x.sqrt()


def in_a_loop_and_a_callee(x: Tensor) -> Tensor:
    return sum(message(part) for part in x.split(1))


def in_a_comprehension(x: Tensor) -> Tensor:
    return torch.cat([message(part) for part in x.split(1)])


def a_number(x: Tensor) -> Tensor:
    lowest = x.min().item()
    if lowest < 0:
        raise ValueError("negative")
    return x * lowest


def asserted(x: Tensor) -> Tensor:
    with region():
        assert (x >= 0).all()
    return x.sqrt()


def of_torch(x: Tensor) -> Tensor:
    return distributions.Normal(x, x).log_prob(x) + distributions.Gamma(x, x).entropy()


def in_a_library_function(x: Tensor) -> Tensor:
    """The function runs natively until it asks for data."""
    return functional.gaussian_nll_loss(x, x + 1, x) + functional.gaussian_nll_loss(x, x, x.square(), reduction="none")


def equal(x: Tensor) -> Tensor:
    assert torch.equal(x, x.abs()), "signs"
    return x.sqrt()


def all_close(x: Tensor) -> Tensor:
    if not torch.allclose(x, x.abs(), atol=0.5):
        raise ValueError("signs")
    return x.sqrt()


def sizes_asserted(x: Tensor) -> Tensor:
    y, z = x[x > 0], x[x < 10]
    assert y.shape == z.shape, "sizes"
    return y + z


def sizes_raised(x: Tensor) -> Tensor:
    y, z = x[x > 0], x[x < 10]
    if [*y.shape] != [*z.shape]:
        raise ValueError(f"sizes {y.shape} and {z.shape}")
    return y + z


def caught_from_a_library_function(x: Tensor) -> Tensor:
    try:
        return functional.gaussian_nll_loss(x, x + 1, x)
    except ValueError:
        return x.sum()


def caught(x: Tensor) -> Tensor:
    try:
        if (x < 0).any():
            raise ValueError
    except ValueError:
        return -x
    return x


def caught_by_the_region(x: Tensor) -> Tensor:
    with quiet():
        return message(x)
    return x


def caught_around_the_region(x: Tensor) -> Tensor:
    with quiet_within():
        return message(x)
    return x


def caught_by_the_caller(x: Tensor) -> Tensor:
    try:
        return message(x)
    except ValueError:
        return -x


def suppressed(x: Tensor) -> Tensor:
    with contextlib.suppress(ValueError):
        if (x < 0).any():
            raise ValueError
        return x
    return -x


def caught_assertion(x: Tensor) -> Tensor:
    try:
        assert (x >= 0).all()
    except AssertionError:
        return -x
    return x


class Lazy:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __getattr__(self, name: str) -> int:
        if (self.x < 0).any():
            raise AttributeError(name)
        return 1


def asked_for_an_attribute(x: Tensor) -> Tensor:
    return x if hasattr(Lazy(x), "scale") else -x


def caught_of_another_class(x: Tensor) -> Tensor:
    """What is raised begins with the name of a class that is not raised."""
    try:
        if (x < 0).any():
            if Negative.__name__ == "Other" or x.dim() > 1:
                raise KeyError("other")
            raise IndexError("negative")
    except IndexError:
        return x * 2
    return x.sqrt()


def raises_either_way(x: Tensor) -> Tensor:
    if (x < 0).any():
        raise ValueError
    raise TypeError


RAISE: list[Callable[[Tensor], Tensor]] = [
    message, message_with_a_choice, class_alone, several_conditions, in_regions,
    in_a_loop_and_a_callee, in_a_comprehension, a_number, asserted, of_torch, in_a_library_function, equal, all_close,
    sizes_asserted, sizes_raised
]  # fmt: skip

BRANCH = [
    caught, caught_by_the_region, caught_around_the_region, caught_by_the_caller, suppressed, caught_assertion,
    caught_of_another_class, asked_for_an_attribute, raises_either_way, caught_from_a_library_function
]  # fmt: skip
