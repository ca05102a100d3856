"""pow() of three arguments, of which a size is one"""

from __future__ import annotations

from tests.export.probe import auto, equal, t


@equal
def exponent():
    return auto(lambda x: x * pow(2, x.shape[0], 5), t(6), also=[t(6), t(5)])


@equal
def base_and_modulus():
    return auto(lambda x: x * pow(x.shape[0], 3, x.shape[0] + 1), t(6), also=[t(6), t(5)])


@equal
def plain():
    return auto(lambda x: x * pow(x.shape[0], 2) + pow(3, -1, 7), t(6), also=[t(5)])
