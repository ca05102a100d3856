"""What the program reads of the process and of files, where nothing rests on it or a guard holds it"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import warnings
from pathlib import Path

import torch

from tests.export.probe import equal, refused, t

FOLDER = Path(tempfile.mkdtemp())
str(FOLDER)  # a Path keeps its text from the first time on
(FOLDER / "three.txt").write_text("3\n")


@functools.cache
def table(n):
    return n * 2


def of(body):
    return body, (t(3, 4),)


@equal
def file_read():
    def body(x):
        with open(FOLDER / "three.txt") as file:
            first = int(file.read())
        path = str(FOLDER / "three.txt")
        lines = [int(line) for line in open(path, "rb")]  # noqa: SIM115
        return x * first + sum(lines) + int(Path(path).read_text()) + os.path.getsize(path)

    return of(body)


@equal
def file_that_is_not_there():
    def body(x):
        try:
            with open(FOLDER / "missing.txt") as file:
                return x * int(file.read())
        except FileNotFoundError:
            return x + os.path.exists(FOLDER / "missing.txt") + 2 * (FOLDER / "three.txt").is_file()

    return of(body)


@refused("outside-world")
def file_written():
    def body(x):
        with open(FOLDER / "written.txt", "w") as file:
            file.write("a")
        return x

    return of(body)


@equal
def folder_of_a_cache():
    def body(x):
        os.makedirs(FOLDER, exist_ok=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        return x + 1

    return of(body)


@refused("outside-world")
def folder_that_may_not_be_there():
    def body(x):
        os.makedirs(FOLDER / "second")
        return x + 1

    return of(body)


@equal
def terminal_and_processors():
    def body(x):
        red = "\033[31m" if sys.stdout.isatty() else ""
        return x + len(red) + ((os.cpu_count() or 1) > 0)

    return of(body)


@equal
def statistics_of_a_cache():
    def body(x):
        doubled, info = table(3), table.cache_info()
        return x * doubled + (info.maxsize is None)

    return of(body)


@refused("outside-object")
def hits_of_a_cache():
    return of(lambda x: x * table(3) + table.cache_info().hits % 2)


@equal
def warnings_caught_and_left():
    def body(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("told", stacklevel=1)
            y = x + 1
        return y if caught is not None else x

    return of(body)


@refused("outside-object")
def warnings_counted():
    def body(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.warn("told", stacklevel=1)
        return x * len(caught)

    return of(body)


@refused("outside-object")
def warnings_looked_at():
    def body(x):
        with warnings.catch_warnings(record=True) as caught:
            torch.nn.functional.softmax(x)
        return x if caught and caught[0].category is UserWarning else x + 1

    return of(body)


@refused("outside-object")
def warnings_asked_for_their_class():
    def body(x):
        with warnings.catch_warnings(record=True) as caught:
            y = x + 1
        return y if isinstance(caught, list) else x

    return of(body)
