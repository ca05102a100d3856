"""Hashes and ids, the order of sets, the clock, the environment, files, the platform, logging."""

# ruff: noqa: B028, E742, RUF015

from __future__ import annotations

import array
import ast
import base64
import bisect
import calendar
import colorsys
import contextlib
import copy
import csv
import datetime
import decimal
import difflib
import fractions
import hashlib
import io
import json
import logging
import numbers
import operator
import os
import pathlib
import pprint
import re
import secrets
import shlex
import statistics
import string
import struct
import sys
import tempfile
import textwrap
import typing
import unicodedata
import uuid
import warnings
import zlib
from dataclasses import dataclass

import numpy as np
import torch

from tests.export.probe import equal, refused, t


@refused('unrecordable-id')
def hash_of_tensor():
    def f(x):
        return x * (hash(x) // 16 % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_of_tuple_with_tensor():
    def f(x):
        return x * (hash((x, 1)) % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_dunder():
    def f(x):
        return x * (x.__hash__() // 16 % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_object_dunder():
    class O:
        pass

    def f(x):
        return x * (object.__hash__(O()) // 16 % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_through_dataclass():
    @dataclass(frozen=True)
    class C:
        a: typing.Any

    def f(x):
        return x * (hash(C(x)) % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_through_operator():
    def f(x):
        return x * (list(map(hash, [x]))[0] // 16 % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def hash_of_function_or_class():
    class O:
        pass

    def f(x):
        return x * (hash(O) // 16 % 7) + hash(f) % 3

    return (f, (t(3),))


@refused('unrecordable-id')
def id_via_map():
    def f(x):
        return x * (list(map(id, [x]))[0] // 16 % 7)

    return (f, (t(3),))


@refused('unrecordable-id')
def id_via_sorted_key():
    def f(x, y):
        return sorted([x, y], key=id)[0] * 2

    return (f, (t(3), t(3)))


@refused('unrecordable-id')
def set_of_objects_order():
    class O:
        def __init__(s, n):
            s.n = n


    def f(x):
        s = {O(i) for i in range(9)}
        return x * [o.n for o in s][0]

    return (f, (t(3),))


@refused('unrecordable-id')
def set_of_tensors_order():
    def f(x, y, z):
        return next(iter({x, y, z})) * 2

    return (f, (t(3), t(3), t(3)))


@refused('unrecordable-id')
def set_of_tensors_pop():
    def f(x, y, z):
        return {x, y, z}.pop() * 2

    return (f, (t(3), t(3), t(3)))


@equal
def set_of_types_order():
    def f(x):
        return (x, [c.__name__ for c in {int, str, float, list}])

    return (f, (t(3),))


@refused('unrecordable-value')
def datetime_now():
    def f(x):
        return x * datetime.datetime.now().second

    return (f, (t(3),))


@refused('unrecordable-value')
def datetime_today_name():
    def f(x):
        return (x, datetime.date.today().isoformat())

    return (f, (t(3),))


@equal
def datetime_arith():
    def f(x):
        return (
            x * (datetime.date(2020, 1, 3) - datetime.date(2020, 1, 1)).days,
            datetime.timedelta(hours=3).total_seconds(),
        )

    return (f, (t(3),))


@refused('unrecordable-value')
def uuid4():
    def f(x):
        return x * (uuid.uuid4().int % 7)

    return (f, (t(3),))


@refused('unrecordable-value')
def secrets_token():
    def f(x):
        return x * secrets.randbelow(9)

    return (f, (t(3),))


@refused('unrecordable-value')
def os_urandom():
    def f(x):
        return x * os.urandom(1)[0]

    return (f, (t(3),))


@equal
def environ_read():
    os.environ['H11_K'] = '3'
    def f(x):
        return x * int(os.environ['H11_K']) + len(os.getenv('H11_K', ''))

    return (f, (t(3),))


@refused('process-state')
def environ_write():
    def f(x):
        os.environ['H11_K'] = str(int(os.environ.get('H11_K', '1')) + 1)
        return x * int(os.environ['H11_K'])

    os.environ['H11_K'] = '1'
    return (f, (t(3),))


@equal
def file_read():
    p = pathlib.Path(tempfile.gettempdir()) / 'h11.txt'
    p.write_text('3')
    def f(x):
        return x * int(p.read_text())

    return (f, (t(3),))


@equal
def file_exists():
    def f(x):
        return x * os.path.exists('/tmp')

    return (f, (t(3),))


@refused('unrecordable-value')
def cwd_pid():
    def f(x):
        return x * (os.getpid() % 7)

    return (f, (t(3),))


@equal
def platform_sys():
    def f(x):
        return (x * len(sys.platform) + sys.maxsize % 7 + sys.version_info[0], sys.byteorder)

    return (f, (t(3),))


@refused('unsupported-value')
def stdlib_pure():
    def f(x):
        return (
            x,
            json.dumps({'a': [1, None, True]}),
            json.loads('[1, 2]'),
            re.findall('\\d+', 'a1b22'),
            base64.b64encode(b'ab'),
            hashlib.md5(b'a').hexdigest(),
            zlib.crc32(b'a'),
            struct.unpack('<i', struct.pack('<i', 5)),
            textwrap.dedent(' a'),
            fractions.Fraction(3, 6),
            decimal.Decimal('1.1') + 1,
            statistics.mean([1, 2]),
            string.Template('$a').substitute(a=1),
            unicodedata.name('a'),
            shlex.split("a 'b c'"),
            difflib.get_close_matches('ab', ['abc', 'x']),
            calendar.isleap(2000),
            pprint.pformat({'a': 1}),
            ast.literal_eval('[1]'),
            colorsys.rgb_to_hsv(1, 0, 0)[2],
            operator.itemgetter(1)([1, 2]),
            bisect.bisect([1, 3], 2),
            list(csv.reader(['a,b'])),
            array.array('i', [1, 2])[1],
            copy.replace if hasattr(copy, 'replace') else 0,
            numbers.Integral.__name__,
            uuid.UUID(int=5).hex,
        )

    return (f, (t(3),))


@equal
def re_state_scanner():
    p = re.compile('\\d')
    def f(x):
        return x * len(p.findall('1a2')) + int(p.sub(lambda m: str(int(m[0]) + 1), '4'))

    return (f, (t(3),))


@refused('outside-iterator')
def re_iter_outside():
    it = re.finditer('\\d', '123456')
    def f(x):
        return x * int(next(it)[0])

    return (f, (t(3),))


@refused('global-rng')
def numpy_global_seeded():
    def f(x):
        np.random.seed(0)
        return x * float(np.random.rand())

    return (f, (t(3),))


@refused('python-state')
def numpy_array_state():
    a = np.zeros(3)
    def f(x):
        a[0] += 1
        return x * float(a[0])

    return (f, (t(3),))


@equal
def numpy_array_local():
    def f(x):
        a = np.zeros(3)
        a[1:] += 2
        b = a.view()
        b[0] = 7
        return (x * float(a.sum()), torch.from_numpy(a) + x)

    return (f, (t(3),))


@refused('process-state')
def logging_level_branch():
    lg = logging.getLogger('h11')
    def f(x):
        lg.setLevel(logging.DEBUG)
        return x * lg.isEnabledFor(logging.DEBUG)

    return (f, (t(3),))


@refused('outside-object')
def warnings_caught():
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always')
            warnings.warn('a')
        return x * len(w)

    return (f, (t(3),))


@equal
def redirect_stdout():
    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stdout(b):
            print('hello')
        return x * len(b.getvalue())

    return (f, (t(3),))

