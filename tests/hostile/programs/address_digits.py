"""Texts with the address of an object: what takes the digits out of them is refused, what leaves them alone is not."""

from __future__ import annotations

import re

from tests.export.probe import equal, refused, t


class Thing:
    pass


def of_text(read):
    thing = Thing()

    def f(x):
        return x + read(repr(thing))

    return f, (t(3),)


@refused("unrecordable-id")
def slice_as_a_number():
    return of_text(lambda text: int(text[-6:-1], 16) % 7)


@refused("unrecordable-id")
def characters():
    return of_text(lambda text: len(set(text.split("x")[-1])))


@refused("unrecordable-id")
def one_character():
    return of_text(lambda text: ord(text[-2]))


@refused("unrecordable-id")
def matched():
    return of_text(lambda text: int(re.search("0x([0-9a-f]+)", text).group(1), 16) % 5)


@refused("unrecordable-id")
def hashed():
    return of_text(lambda text: hash(text) % 7)


@refused("unrecordable-id")
def counted():
    return of_text(lambda text: text.count("7"))


@refused("unrecordable-id")
def compared_with_a_digit():
    return of_text(lambda text: text.endswith("3>"))


@refused("unrecordable-id")
def replaced():
    return of_text(lambda text: len(text.replace("c", "")))


@refused("unrecordable-id")
def found():
    return of_text(lambda text: text.rfind("7"))


@refused("unrecordable-id")
def a_loop():
    return of_text(lambda text: sum(ord(letter) for letter in text) % 5)


@refused("unrecordable-id")
def last_word():
    return of_text(lambda text: int(text.split()[-1][2:-1], 16) % 5)


@refused("unrecordable-id")
def returned_slice():
    thing = Thing()

    def f(x):
        return x, str(thing)[-6:-1]

    return f, (t(3),)


@refused("unrecordable-id")
def encoded():
    thing = Thing()

    def f(x):
        return x, str(thing).encode()

    return f, (t(3),)


@equal
def what_stands_before():
    return of_text(lambda text: len(text.split(" at ")[0]) + text.startswith("<") + len(text[:5]) + ("Thing" in text))


@equal
def without_the_address():
    return of_text(lambda text: len(re.sub(" at 0x[0-9a-f]+", "", text)))


@equal
def as_a_key():
    def f(x):
        things = [Thing(), Thing()]
        table = {repr(thing): number for number, thing in enumerate(things)}
        return x * table[repr(things[1])] + len(table)

    return f, (t(3),)


@equal
def carried_along():
    return of_text(lambda text: len(f"{text.strip()}!") > 5)
