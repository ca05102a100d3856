"""Settings of the process; C code that is pure, and C code that no table has."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import contextvars
import ctypes
import datetime
import functools
import gc
import hashlib
import itertools
import json
import math
import operator
import pickle
import re
import signal
import struct
import sys
import threading
import zlib

import numpy as np
import torch

from ..probe import equal, refused, sound, t
from .callers import Model

# ---- settings of the process


@refused("process-state")
def trace_function_set():
    def body(self, x):
        sys.settrace(None)
        return x * 2

    return Model(body), (t(3),)


@refused("process-state")
def collector_disabled():
    def body(self, x):
        gc.disable()
        gc.enable()
        return x * 2

    return Model(body), (t(3),)


@equal
def garbage_collected():
    def body(self, x):
        gc.collect()
        return x * 2

    return Model(body), (t(3),)


@refused("process-state")
def signal_handler_set():
    def body(self, x):
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        return x * 2

    return Model(body), (t(3),)


@refused("process-state", "global-state")
def default_dtype_set():
    def body(self, x):
        torch.set_default_dtype(torch.float64)
        return x * torch.ones(3).sum().item()

    return Model(body), (t(3),)


@refused("global-state")
def grad_mode_left_off():
    def body(self, x):
        torch._C._set_grad_enabled(False)
        return x * 2

    return Model(body), (t(3),)


@refused("global-state")
def context_variable_left_set():
    variable = contextvars.ContextVar("left", default=1)

    def body(self, x):
        y = x * variable.get()
        variable.set(variable.get() + 1)
        return y

    return Model(body), (t(3),)


@equal
def context_variable_set_and_reset():
    variable = contextvars.ContextVar("back", default=1)

    def body(self, x):
        token = variable.set(5)
        y = x * variable.get()
        variable.reset(token)
        return y

    return Model(body), (t(3),)


@equal
def path_extended():
    def body(self, x):
        sys.path.append("/nonexistent")
        sys.path.pop()
        return x * 2

    return Model(body), (t(3),)


@equal
def module_table_written():
    def body(self, x):
        sys.modules["dynamo_lite_made_up"] = math
        return x * len([n for n in ("dynamo_lite_made_up",) if n in sys.modules])

    return Model(body), (t(3),)


@equal
def import_inside():
    def body(self, x):
        import colorsys

        return x * colorsys.rgb_to_hsv(0.5, 0.25, 0.25)[2]

    return Model(body), (t(3),)


@sound()
def thread_started():
    def body(self, x):
        results = []
        worker = threading.Thread(target=lambda: results.append(x * 2))
        worker.start()
        worker.join()
        return results[0]

    return Model(body), (t(3),)


@sound()
def thread_pool():
    from concurrent.futures import ThreadPoolExecutor

    def body(self, x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: x * 2).result()

    return Model(body), (t(3),)


@refused("process-state")
def exit_handler_registered():
    import atexit

    def body(self, x):
        atexit.register(lambda: None)
        return x * 2

    return Model(body), (t(3),)


# ---- pure C code: allowed


@equal
def pure_standard_library():
    def body(self, x):
        n = math.isqrt(17) + zlib.crc32(b"abc") % 3 + struct.unpack("<h", b"\x01\x00")[0]
        n += len(hashlib.sha256(b"a").hexdigest()) + len(json.dumps({"a": [1, 2]})) + len(re.findall(r"\d", "a1b2"))
        n += functools.reduce(operator.add, itertools.accumulate([1, 2, 3])) + int.from_bytes(b"\x01", "big")
        n += len(pickle.dumps([1, 2])) % 3 + datetime.date(2020, 1, 2).day
        return x * n

    return Model(body), (t(3),)


@equal
def hash_object_of_its_own():
    def body(self, x):
        h = hashlib.md5()
        h.update(b"abc")
        return x * (int(h.hexdigest(), 16) % 5)

    return Model(body), (t(3),)


@refused("outside-object")
def hash_object_from_outside():
    def body(self, x):
        self.h.update(b"abc")
        return x * (int(self.h.hexdigest(), 16) % 5)

    return Model(body, h=hashlib.md5()), (t(3),)


@refused("outside-object")
def compressor_from_outside():
    def body(self, x):
        return x * len(self.z.compress(b"abc" * 10))

    return Model(body, z=zlib.compressobj()), (t(3),)


@equal
def numpy_functions_on_constants():
    def body(self, x):
        table = np.linspace(0, 1, 3)
        return x * float(np.exp(table).sum() + np.where(table > 0.5, 1, 0).sum() + table.mean())

    return Model(body), (t(3),)


@equal
def numpy_table_becomes_a_tensor():
    def body(self, x):
        return x + torch.from_numpy(self.table)

    return Model(body, table=np.arange(3, dtype=np.float32)), (t(3),)


@refused("constant-mutated")
def numpy_table_changed_after_it_became_a_tensor():
    def body(self, x):
        table = np.zeros(3, dtype=np.float32)
        tensor = torch.from_numpy(table)
        y = x + tensor
        table[0] = 5
        return y + tensor

    return Model(body), (t(3),)


# ---- unknown C code: refused, with three ways out


@refused("opaque-call", "outside-object", "outside-world")
def foreign_function():
    library = ctypes.CDLL(None)

    def body(self, x):
        return x * library.abs(-3)

    return Model(body), (t(3),)


@refused("opaque-call", "outside-object", "outside-world")
def foreign_function_pointer():
    library = ctypes.CDLL(None)

    def body(self, x):
        return x * self.fn(-3)

    return Model(body, fn=library.abs), (t(3),)
