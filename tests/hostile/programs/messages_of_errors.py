"""Errors under a condition on data, with numbers of the data in their messages"""

from __future__ import annotations

import torch

from tests.export.probe import Case, equal, refused, t


class NanError(RuntimeError):
    pass


class Counted(Exception):
    def __init__(self, count):
        self.count = count
        super().__init__(f"{count} are nan")


class Spelled(Exception):
    made = 0

    def __str__(self):
        Spelled.made += 1
        return "spelled"


def checked(check, error=NanError):
    """The bad input is rejected, as eager rejects it; by an assertion, whose class is RuntimeError."""

    def forward(x):
        check(x)
        return x + 1

    bad = ((t(3, 4) * float("nan"),), {})
    return Case(forward, (t(3, 4),), also=[bad], raised_as=(error, RuntimeError))


@equal
def message_made_before():
    def check(x):
        count = x.isnan().sum().item()
        if count > 0:
            message = f"{count} of {x.numel()} are nan"
            raise NanError(message)

    return checked(check)


@equal
def made_by_a_helper():
    def error(x):
        return NanError(f"{x.isnan().sum().item()} are nan")

    def check(x):
        if x.isnan().any():
            raise error(x)

    return checked(check)


@equal
def made_by_a_constructor_of_its_own():
    def check(x):
        count = x.isnan().sum().item()
        if count > 0:
            found = Counted(count)
            raise found

    return checked(check, Counted)


@equal
def its_own_str_is_not_called():
    Spelled.made = 0

    def check(x):
        if x.isnan().any():
            found = Spelled()
            raise found

    return checked(check, Spelled)


@equal
def raised_in_a_handler_of_another_class():
    def check(x):
        try:
            message = f"{x.isnan().sum().item()} are nan"
            if x.isnan().any():
                raise NanError(message)
        except ValueError:
            x.zero_()

    return checked(check)


@refused("branch-unsupported", "data-dependent-branch")
def caught():
    def check(x):
        try:
            message = f"{x.isnan().sum().item()} are nan"
            if x.isnan().any():
                raise NanError(message)
        except NanError:
            x.zero_()

    return checked(check)


@refused("branch-unsupported", "data-dependent-branch", "data-dependent-value")
def read_by_the_program():
    def check(x):
        error = NanError(f"{x.isnan().sum().item()}")
        if "0" in str(error):
            x.add_(torch.ones(4))

    return checked(check)
