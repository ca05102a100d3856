"""Calls that leave the program: text that is printed, clocks, files, processes."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import contextlib
import datetime
import gc
import io
import logging
import os
import pathlib
import platform
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings

import numpy as np
import torch

from ..probe import equal, refused, sound, t
from .callers import Loud, Model

# ---- printing, warnings, logging


@equal
def print_to_the_screen():
    def body(self, x):
        print("shape", x.shape[0], end="")
        return x * 2

    return Model(body), (t(3),)


@equal
def print_into_a_buffer_of_its_own():
    def body(self, x):
        buf = io.StringIO()
        print("abc", file=buf)
        return x * len(buf.getvalue())

    return Model(body), (t(3),)


@sound("outside-object")
def print_into_a_buffer_from_outside():
    def body(self, x):
        print("abc", file=self.buf)
        return x * len(self.buf.getvalue())

    return Model(body, buf=io.StringIO()), (t(3),)


@sound("outside-object")
def print_into_a_list_like_object():
    class Stream:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines.append(text)

    def body(self, x):
        print("abc", file=self.out)
        return x * len(self.out.lines)

    return Model(body, out=Stream()), (t(3),)


@equal
def redirected_print():
    def body(self, x):
        buf = io.StringIO()
        with contextlib.redirect_stdout(buf):
            print("abc", end="")
        return x * len(buf.getvalue())

    return Model(body), (t(3),)


@refused("python-state")
def print_calls_the_programs_str():
    def body(self, x):
        print(self.loud)
        return x * self.loud.n

    return Model(body, loud=Loud()), (t(3),)


@equal
def warning_is_given():
    def body(self, x):
        warnings.warn("careful", stacklevel=2)
        return x * 2

    return Model(body), (t(3),)


@sound("outside-object")
def warnings_are_recorded():
    def body(self, x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn("careful", stacklevel=2)
        return x * len(seen)

    return Model(body), (t(3),)


@equal
def warnings_become_errors():
    def body(self, x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("careful", stacklevel=2)
            except UserWarning:
                return x * 3
        return x * 2

    return Model(body), (t(3),)


@equal
def logging_at_every_level():
    logger = logging.getLogger("dynamo_lite.tests.effects")
    logger.propagate = False

    def body(self, x):
        logger.debug("a %s", 1)
        logger.info("b")
        logger.warning("c")
        logging.getLogger("dynamo_lite.tests.other").debug("d")
        return x * 2

    logger.addHandler(logging.NullHandler())
    return Model(body), (t(3),)


@equal
def logging_level_read():
    logger = logging.getLogger("dynamo_lite.tests.effects")

    def body(self, x):
        return x * (2 if logger.isEnabledFor(logging.CRITICAL) else 3)

    return Model(body), (t(3),)


@refused("process-state")
def logging_level_set():
    logger = logging.getLogger("dynamo_lite.tests.levels")

    def body(self, x):
        y = x * (1 + logger.level)
        logger.setLevel(logging.DEBUG)
        return y

    logger.setLevel(logging.NOTSET)
    return Model(body), (t(3),)


@sound()
def sys_stdout_written():
    def body(self, x):
        sys.stdout.write("")
        return x * 2

    return Model(body), (t(3),)


# ---- clocks, addresses, random numbers


@refused("unrecordable-value")
def clock_used():
    return Model(lambda self, x: x * time.time()), (t(3),)


@equal
def clock_measured_only():
    def body(self, x):
        start = time.perf_counter()
        y = x * 2
        elapsed = time.perf_counter() - start
        print(elapsed)
        return y

    return Model(body), (t(3),)


@equal
def sleeping():
    def body(self, x):
        time.sleep(0)
        return x * 2

    return Model(body), (t(3),)


@refused("unrecordable-value")
def date_used():
    return Model(lambda self, x: x * datetime.datetime.now().microsecond), (t(3),)


@refused("unrecordable-value")
def random_number_used():
    return Model(lambda self, x: x * random.random()), (t(3),)


@equal
def random_number_unused():
    def body(self, x):
        random.random()
        return x * 2

    return Model(body), (t(3),)


@refused("unrecordable-value")
def random_choice_branch():
    return Model(lambda self, x: x * 2 if random.choice([True, False]) else x), (t(3),)


@refused("unrecordable-value")
def numpy_random_used():
    return Model(lambda self, x: x * float(np.random.rand())), (t(3),)


@refused("global-rng")
def seed_set():
    def body(self, x):
        random.seed(1)
        return x * 2

    return Model(body), (t(3),)


@refused("global-rng")
def numpy_seed_set():
    def body(self, x):
        np.random.seed(1)
        return x * 2

    return Model(body), (t(3),)


@refused("global-rng")
def torch_seed_set():
    def body(self, x):
        torch.manual_seed(1)
        return x + torch.rand(3)

    return Model(body), (t(3),)


@sound("unrecordable-value")
def torch_generator_state_read():
    def body(self, x):
        return x * torch.get_rng_state().float().mean()

    return Model(body), (t(3),)


@sound("unrecordable-value")
def token_used():
    return Model(lambda self, x: x * len(set(secrets.token_hex(8)))), (t(3),)


@refused("unrecordable-value")
def uuid_used():
    return Model(lambda self, x: x * (uuid.uuid4().int % 7)), (t(3),)


@refused("unrecordable-id")
def address_used():
    return Model(lambda self, x: x * (id(self) % 7)), (t(3),)


@refused("unrecordable-value")
def process_id_used():
    return Model(lambda self, x: x * (os.getpid() % 7)), (t(3),)


@sound("unrecordable-value")
def thread_id_used():
    return Model(lambda self, x: x * (threading.get_ident() % 7)), (t(3),)


@sound("unrecordable-value")
def reference_count_used():
    return Model(lambda self, x: x * sys.getrefcount(self.b)), (t(3),)


@sound("unrecordable-value")
def size_in_bytes_used():
    return Model(lambda self, x: x * sys.getsizeof([1, 2])), (t(3),)


@refused("unrecordable-value")
def objects_counted():
    return Model(lambda self, x: x * len(gc.get_objects())), (t(3),)


# ---- files, processes, the environment


@equal
def file_read():
    path = pathlib.Path(tempfile.gettempdir()) / "dynamo_lite_effects.txt"
    path.write_text("12")

    def body(self, x):
        with open(path) as file:
            return x * int(file.read())

    return Model(body), (t(3),)


@equal
def file_read_by_pathlib():
    path = pathlib.Path(tempfile.gettempdir()) / "dynamo_lite_effects.txt"
    path.write_text("12")
    return Model(lambda self, x: x * int(path.read_text())), (t(3),)


@equal
def file_exists():
    return Model(lambda self, x: x * (2 if os.path.exists("/nonexistent") else 3)), (t(3),)


@refused("outside-world")
def directory_listed():
    return Model(lambda self, x: x * (1 + len(os.listdir(tempfile.gettempdir())))), (t(3),)


@refused("outside-world")
def tensor_saved():
    def body(self, x):
        torch.save(x, io.BytesIO())
        return x * 2

    return Model(body), (t(3),)


@refused("background-code")
def process_started():
    return Model(lambda self, x: x * len(subprocess.run(["true"], check=False).args)), (t(3),)


@refused("outside-world", "process-state", "unrecordable-value")
def pipe_opened():
    def body(self, x):
        r, w = os.pipe()
        os.close(r)
        os.close(w)
        return x * 2

    return Model(body), (t(3),)


@equal
def environment_read():
    os.environ.setdefault("DYNAMO_LITE_EFFECTS", "3")
    return Model(lambda self, x: x * int(os.environ["DYNAMO_LITE_EFFECTS"])), (t(3),)


@refused("process-state", "python-state")
def environment_written():
    def body(self, x):
        os.environ["DYNAMO_LITE_EFFECTS"] = "4"
        return x * 2

    return Model(body), (t(3),)


@refused("unrecordable-value")
def working_directory_used():
    return Model(lambda self, x: x * len(os.getcwd())), (t(3),)


@equal
def paths_joined():
    return Model(lambda self, x: x * len(os.path.join("a", "b") + os.path.basename("/c/d"))), (t(3),)


@equal
def platform_asked():
    return Model(lambda self, x: x * (2 if platform.system() == "Nowhere" else 3)), (t(3),)
