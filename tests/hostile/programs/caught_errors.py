"""Operators whose errors depend on data, and programs that catch them or let them pass"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.export.probe import Case, equal, refused, sound, t

EYE = torch.eye(3)
CAUGHT = "caught-operator-error"


def positive() -> torch.Tensor:
    root = torch.randn(3, 3)
    return root @ root.T + EYE


def indefinite() -> torch.Tensor:
    return EYE - torch.ones(3, 3)


def factor(x):
    return torch.linalg.cholesky(x)


def both(program: Any, **options: Any) -> Case:
    """An example that the operator takes, and a call with one that it does not."""
    return Case(program, (positive(),), also=[((indefinite(),), {})], **options)


@refused(CAUGHT)
def retried_with_a_shift():
    def f(x):
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return torch.linalg.cholesky(x + 3 * EYE)

    return both(f)


@refused(CAUGHT)
def retried_in_a_loop():
    def f(x):
        for shift in (0.0, 1e-3, 10.0):
            try:
                return factor(x + shift * EYE)
            except torch.linalg.LinAlgError:
                continue
        raise ValueError("no shift is large enough")

    return both(f)


@refused(CAUGHT)
def caught_by_a_caller():
    class Inner(nn.Module):
        def forward(self, x):
            return torch.inverse(x)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            try:
                return self.inner(x)
            except Exception:
                return x

    return Case(Outer(), (positive(),))


@refused(CAUGHT)
def suppressed():
    def f(x):
        with contextlib.suppress(RuntimeError):
            return factor(x)
        return x

    return both(f)


@refused(CAUGHT)
def suppressed_on_an_exit_stack():
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(contextlib.suppress(RuntimeError))
            return factor(x)
        return x

    return both(f)


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is not None and issubclass(kind, RuntimeError)


@refused(CAUGHT)
def swallowed_by_a_context_manager():
    def f(x):
        with Quiet():
            return factor(x)
        return x

    return both(f)


@contextlib.contextmanager
def ignoring():
    try:
        yield
    except RuntimeError:
        pass


@refused(CAUGHT)
def swallowed_by_a_generator():
    def f(x):
        with ignoring():
            return factor(x)
        return x

    return both(f)


@refused(CAUGHT)
def caught_around_a_generator():
    def steps(x):
        yield x
        try:
            yield factor(x)
        except RuntimeError:
            yield x * 2

    return both(lambda x: list(steps(x)))


@refused(CAUGHT)
def caught_under_another_name():
    def f(x):
        try:
            try:
                return factor(x)
            except RuntimeError as error:
                raise ValueError("not positive definite") from error
        except ValueError:
            return x

    return both(f)


@refused(CAUGHT)
def a_return_in_finally():
    def f(x):
        y = x
        try:
            y = factor(x)
        finally:
            return y  # noqa: B012

    return both(f)


@refused(CAUGHT)
def caught_as_a_group():
    def f(x):
        try:
            return factor(x)
        except* RuntimeError:
            pass
        return x

    return both(f)


# -- what is no catch ------------------------------------------------------------------------------------------------


@equal
def another_class():
    def f(x):
        try:
            return factor(x)
        except (KeyError, ImportError, torch.cuda.OutOfMemoryError):
            return x

    return both(f)


@equal
def only_finally():
    def f(x):
        try:
            y = factor(x)
        finally:
            x = x + 1
        return y, x

    return both(f)


@equal
def raised_as_another_class():
    def f(x):
        try:
            return factor(x)
        except RuntimeError as error:
            message = "x is not positive definite"
            raise ValueError(message) from error

    return both(f, raised_as=(ValueError, torch.linalg.LinAlgError))


@equal
def raised_as_another_class_if_the_data_says_so():
    def f(x, i):
        try:
            return torch.zeros(4, 3).scatter_add(0, i, x)
        except (IndexError, RuntimeError) as error:
            if i.numel() > 0 and int(i.max()) >= 4:
                raise ValueError(f"4 rows, and {int(i.max())} asked for") from error
            raise error

    return Case(f, (t(3, 3), torch.tensor([[0, 1, 3]] * 3)), also=[((t(3, 3), torch.tensor([[0, 1, 5]] * 3)), {})],
                raised_as=(ValueError, RuntimeError))


@refused(CAUGHT)
def raised_as_an_attribute_that_is_not_there():
    class Lazy:
        def __init__(self, x):
            self.x = x

        def __getattr__(self, name):
            try:
                return factor(self.x)
            except RuntimeError as error:
                raise AttributeError(name) from error

    def f(x):
        return x if hasattr(Lazy(x), "factor") else x + 1

    return both(f)


@equal
def raised_as_another_of_its_class():
    def f(x, i):
        try:
            return x[i]
        except IndexError as error:
            raise IndexError(f"no such row: {error}") from error

    return Case(f, (t(3, 2), torch.tensor([0, 2])), also=[((t(3, 2), torch.tensor([0, 3])), {})])


@equal
def raised_again_by_name():
    def f(x):
        try:
            return factor(x)
        except RuntimeError as error:
            raise error

    return both(f)


@equal
def raised_again_by_all():
    def f(x):
        try:
            with torch.no_grad(), contextlib.suppress(KeyError), contextlib.nullcontext():
                return factor(x)
        except RuntimeError:
            raise

    return both(f)


class Timer:
    def __enter__(self):
        self.running = True
        return self

    def __exit__(self, kind, error, traceback):
        self.running = False


@contextlib.contextmanager
def timed():
    timer = Timer()
    try:
        yield timer
    finally:
        timer.running = False


@equal
def context_managers_that_only_look():
    def f(x):
        with Timer(), timed(), contextlib.ExitStack() as stack:
            stack.callback(list)
            stack.enter_context(torch.enable_grad())
            return factor(x)

    return both(f)


@equal
def handlers_that_are_over():
    def f(x):
        try:
            x = x + 1
        except RuntimeError:
            x = x - 1
        return factor(x @ x.T + EYE)

    return Case(f, (positive(),))


@equal
def the_rewrite():
    def f(x):
        found, failed = torch.linalg.cholesky_ex(x)
        try:
            shifted, _ = torch.linalg.cholesky_ex(x + 3 * EYE)
        except RuntimeError:
            shifted = x
        return torch.where(failed == 0, found, shifted)

    return both(f)


# -- operators -------------------------------------------------------------------------------------------------------


def tried(operator: Any) -> Any:
    def f(*args):
        try:
            return operator(*args)
        except (RuntimeError, IndexError, ValueError):
            return args[0] * 2

    return f


@refused(CAUGHT)
def an_index():
    return tried(lambda x, i: x[i]), (t(4, 2), torch.tensor([1, 3]))


@refused(CAUGHT)
def an_index_written():
    def f(x, i):
        y = x.clone()
        try:
            y[i] = 0.0
        except IndexError:
            return x
        return y

    return f, (t(4, 2), torch.tensor([1, 3]))


@equal
def a_mask_as_index():
    return tried(lambda x: x[:, torch.tensor([True, False])]), (t(4, 2),)


@refused(CAUGHT)
def an_embedding():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 3)

        def forward(self, x):
            try:
                return self.table(x)
            except IndexError:
                return self.table(x.clamp(0, 4))

    return Module(), (torch.tensor([1, 4]),)


@refused(CAUGHT)
def targets_of_a_loss():
    return tried(F.cross_entropy), (t(4, 3), torch.tensor([0, 1, 2, 0]))


@refused(CAUGHT)
def one_hot_of_classes():
    return tried(lambda x: F.one_hot(x, 4)), (torch.tensor([0, 3]),)


@refused(CAUGHT)
def probabilities():
    return tried(lambda p: torch.bernoulli(p)), (torch.zeros(3),)


@refused(CAUGHT)
def gathered():
    return tried(lambda x, i: x.gather(0, i)), (t(4, 2), torch.zeros(1, 2, dtype=torch.int64))


@refused(CAUGHT)
def integers_divided():
    return tried(lambda a, b: a // b), (torch.tensor([4, 6]), torch.tensor([2, 3]))


@equal
def integers_divided_by_a_number():
    return tried(lambda a: a // 2 + a % 3), (torch.tensor([4, 6]),)


@equal
def floats_divided():
    return tried(lambda a, b: a // b), (t(3), t(3))


@refused(CAUGHT)
def the_largest_of_maybe_nothing():
    return Case(tried(lambda x: x[x > 0].max()), (torch.tensor([1.0, -1.0]),))


@equal
def the_largest_of_something():
    return tried(lambda x: x.max()), (t(3),)


@refused(CAUGHT)
def masks_of_unequal_sizes():
    return tried(lambda x: x[x > 0] + x[x < 0]), (torch.tensor([1.0, -1.0]),)


@sound()
def an_element_by_data():
    def f(x, i):
        try:
            return x[int(i)] * 2
        except IndexError:
            return x[0] * 3

    return Case(f, (t(3), torch.tensor(1)), also=[((t(3), torch.tensor(5)), {})])


@torch.library.custom_op("hostile::checked_root", mutates_args=())
def checked_root(x: torch.Tensor) -> torch.Tensor:
    if bool((x < 0).any()):
        raise ValueError("negative")
    return x.sqrt()


@checked_root.register_fake
def _(x):
    return torch.empty_like(x)


@refused(CAUGHT)
def a_custom_operator():
    return Case(tried(checked_root), (torch.ones(2),), also=[((-torch.ones(2),), {})])


# -- sizes that only run time knows ----------------------------------------------------------------------------------


@equal
def broadcast_of_its_first_elements():
    def f(x):
        y = x[x > 0]
        return y - y[:1], y[:1] * y

    also = [((-torch.ones(3),), {}), ((torch.tensor([1.0, -1.0, -1.0]),), {})]
    return Case(f, (torch.tensor([1.0, -1.0, 2.0]),), also=also)


# -- errors of Python's own arithmetic, with numbers that only run time knows


def number(program: Any, *values: float) -> Case:
    first, *others = (torch.tensor(value) for value in values)
    return Case(program, (first,), also=[((other,), {}) for other in others])


@refused(CAUGHT)
def quotient_or_minus_one():
    def f(n):
        try:
            return 10 // n.item()
        except ZeroDivisionError:
            return -1

    return number(f, 4, 0)


@refused(CAUGHT)
def remainder_or_minus_one():
    def f(n):
        try:
            rest = 10.0 % n.item()
        except (ArithmeticError, ValueError):
            rest = -1
        return n * rest

    return number(f, 4.0, 0.0)


@refused(CAUGHT)
def shift_or_minus_one():
    def f(n):
        try:
            return 1 << n.item()
        except ValueError:
            return -1

    return number(f, 4, -1)


@refused(CAUGHT)
def whole_number_or_nothing():
    def f(n):
        try:
            return int(n.item())
        except (ValueError, OverflowError):
            return 0

    return number(f, 4.5, float("nan"))


@equal
def quotient_under_another_handler():
    def f(n):
        try:
            return 10 // n.item()
        except KeyError:
            return -1

    return number(f, 4, 3)


@equal
def text_of_a_missing_attribute():
    weight = torch.nn.Parameter(torch.ones(2))

    def f(x):
        texts = []
        for value in (x, x * 2, weight):
            try:
                value.nope()
            except AttributeError as error:
                texts += [str(error), error.name, error.obj is value]
        return x * weight, texts

    return (f, (t(2),))
