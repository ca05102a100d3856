"""Values that differ from call to call, of which the program asks only which are equal, or nothing"""

from __future__ import annotations

import datetime
import itertools
import os
import random
import threading
import time
import uuid

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Tied(nn.Module):
    def __init__(self, body, start=lambda self: None):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.layers = nn.ModuleList([self.a, self.b, self.a])
        self.body = body
        start(self)

    def forward(self, x):
        return self.body(self, x)


def tied(body, start=lambda self: None):
    return Tied(body, start), (t(3, 4),)


@equal
def parameters_that_were_seen():
    def body(self, x):
        seen, total = set(), 0
        for p in (self.a.weight, self.b.weight, self.a.bias, self.b.bias):
            if id(p) in seen:
                continue
            seen.add(id(p))
            total = total + p.sum()
        return self.b(x) + total

    return tied(body)


@equal
def ids_as_keys():
    def body(self, x):
        index = {id(m): i for i, m in enumerate(self.layers)}
        groups = {}
        for layer in self.layers:
            groups.setdefault((id(layer), "key"), []).append(layer)
        return x * index[id(self.b)] + len(groups) + len(set(map(id, self.layers)))

    return tied(body)


@equal
def ids_compared():
    return tied(lambda self, x: x * (2 + (id(self.a.weight) == id(self.b.weight)) + 3 * (id(self.a) != id(self.b))))


@equal
def ids_kept_since_init():
    def start(self):
        self.names = {id(p): name for name, p in self.named_parameters()}
        self.ids = [id(self.a), id(self.b)]

    def body(self, x):
        return x * len(self.names[id(self.a.weight)]) + self.ids.index(id(self.b)) + (id(self) in self.names)

    return tied(body, start)


@equal
def memo_by_id():
    def start(self):
        self.memo = {}

    def body(self, x):
        with torch.no_grad():
            key = id(self.a)
            if key not in self.memo:
                self.memo[key] = self.a.weight * 2
            return x @ self.memo[key]

    return tied(body, start)


@equal
def ids_of_what_lives():
    def body(self, x):
        kept = [x * i for i in range(3)]
        return x * len({id(v) for v in kept}) + (id(kept[0]) in {id(x)})

    return tied(body)


@refused("unrecordable-id")
def ids_of_what_has_died():
    def body(self, x):
        return x * len({id(x * i) for i in range(3)})

    return tied(body)


@refused("unrecordable-id")
def order_of_ids():
    return tied(lambda self, x: sorted([self.a, self.b], key=id)[0](x))


@refused("unrecordable-id")
def order_of_a_set_of_ids():
    return tied(lambda self, x: x * next(key == id(self.a) for key in {id(self.a), id(self.b)}))


@refused("unrecordable-id")
def order_of_a_set_of_ids_as_keys():
    def body(self, x):
        keys = dict.fromkeys({id(self.a), id(self.b)})
        return x * next(key == id(self.a) for key in keys)

    return tied(body)


@refused("unrecordable-id")
def order_of_a_set_of_texts():
    def body(self, x):
        keys = [str(uuid.uuid4()) for _ in range(3)]
        return x * keys.index(tuple(set(keys))[-1])

    return tied(body)


@refused("unrecordable-id")
def round_over_a_set_of_texts():
    def body(self, x):
        keys = [uuid.uuid4().hex for _ in range(3)]
        for key in {*keys}:
            x = x * 2 + keys.index(key)
        return x

    return tied(body)


@refused("unrecordable-id")
def id_as_a_number():
    return tied(lambda self, x: x * (id(self.a) % 2))


@refused("unrecordable-id")
def id_as_an_output():
    return tied(lambda self, x: (x, {"id": id(self.a)}))


@refused("unrecordable-id")
def id_as_a_key_of_an_output():
    return tied(lambda self, x: {id(self.a): x})


@equal
def texts_of_ids():
    return tied(lambda self, x: x * {f"m{id(self.a)}": 2, str(id(self.b)): 3}[f"m{id(self.a)}"])


@equal
def class_of_an_id():
    return tied(lambda self, x: x * (isinstance(id(self.a), int) + (type(id(self.a)) is int)))


@equal
def thread_as_a_key():
    def start(self):
        self.tables = {}

    def body(self, x):
        key, local = threading.get_ident(), {}
        if key not in self.tables:
            self.tables[key] = torch.ones(4) * 2
        local[f"worker-{key}"] = x
        return local[f"worker-{threading.get_ident()}"] * self.tables[key]

    return tied(body, start)


@refused("unrecordable-value")
def thread_compared():
    def start(self):
        self.owner = threading.get_ident()

    return tied(lambda self, x: x * (2 if threading.get_ident() == self.owner else 3), start)


@refused("unrecordable-value")
def thread_as_a_key_from_before():
    def start(self):
        self.tables = {threading.get_ident(): 3}

    return tied(lambda self, x: x * self.tables[threading.get_ident()], start)


@equal
def uuids_as_keys():
    def body(self, x):
        name, key = f"tmp_{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
        made = {name: x, key: x * 2, uuid.uuid4(): x * 3, os.getpid(): x}
        return made.pop(name) + made[key] + made.get(key) * len(made) + sum(made.values())

    return tied(body)


@equal
def numbers_of_uuids_as_keys():
    def body(self, x):
        one, other = uuid.uuid4(), uuid.uuid4()
        names = [f"unnamed.{one.int}", f"unnamed.{other.int}", f"unnamed.{one.int}"]
        made = {name: x * place for place, name in enumerate(names)}
        seen = {one.int: x, other.int: x + 1}
        return made[names[0]] + seen[other.int] * len(made) + (1 if one.int != other.int and names[0] in made else 2)

    return tied(body)


@equal
def uuids_in_lists():
    def body(self, x):
        names = [f"u{uuid.uuid4()}" for _ in range(3)]
        seen = {}
        for place, (name, other) in enumerate(zip(names, reversed([*names]))):
            seen[name] = place * (2 if name == other else 1)
        kept = list(itertools.islice(itertools.chain(names, tuple(names)), 1, 4))
        return x * seen[kept[0]] + seen[next(iter(kept))] + len(kept) + seen[names.pop()]

    return tied(body)


@equal
def uuids_in_sets():
    def body(self, x):
        names = [f"u{uuid.uuid4()}" for _ in range(3)]
        names.append(names[1])
        known, tail = {*names}, frozenset(names[2:])
        apart = len(set(names)) + names.index(names[3]) + names.count(names[1]) + len(known.difference(tail))
        return (
            x * apart
            + len(known.union(["a"]))
            + dict(zip(names, (2, 2, 2, 2)))[names[0]]
            + (1 if tail.issubset(known) else 2)
        )

    return tied(body)


@refused("unrecordable-value")
def the_first_of_two_uuids():
    return tied(lambda self, x: x * (2 if sorted([str(uuid.uuid4()), "8"])[0] == "8" else 3))


@refused("unrecordable-value")
def letters_of_a_uuid():
    return tied(lambda self, x: x * (2 if "7" in list(str(uuid.uuid4())) else 3))


@refused("unrecordable-value")
def digits_of_a_uuid():
    return tied(lambda self, x: x * (2 if uuid.uuid4().hex[0] in "01234567" else 3))


@refused("unrecordable-value")
def number_of_a_uuid():
    return tied(lambda self, x: x * (uuid.uuid4().int % 2))


@refused("unrecordable-value")
def uuid_as_a_key_of_an_output():
    return tied(lambda self, x: {str(uuid.uuid4()): x})


@equal
def times_that_are_told():
    def body(self, x):
        start, since = datetime.datetime.now(), time.perf_counter()
        y = x + 1
        took = (datetime.datetime.now() - start).total_seconds()
        told = f"{took:.2f} s since {start.isoformat()}, {int((time.perf_counter() - since) * 1000)} ms"
        self.told = None if told is None else y
        return y

    return tied(body)


@equal
def time_kept():
    def body(self, x):
        self.last = time.time()
        return x + 1

    return tied(body)


@refused("unrecordable-value")
def time_decides():
    def body(self, x):
        took = time.time() - time.time()
        return x + 1 if took < 10 else x

    return tied(body)


@refused("unrecordable-value")
def text_of_a_time():
    return tied(lambda self, x: (x, str(time.time())))


@refused("unrecordable-value")
def class_of_a_time():
    return tied(lambda self, x: x * isinstance(time.time(), float))


@refused("unrecordable-value")
def what_was_drawn_is_called():
    def body(self, x):
        found = []
        random.choice([found.append])(x)
        return x * len(found)

    return tied(body)


@refused("unrecordable-value")
def a_time_that_c_code_refuses_to_take():
    def body(self, x):
        try:
            datetime.timedelta(seconds=time.time())
        except TypeError:
            return x * 2
        return x * 3

    return tied(body)


@refused("unrecordable-value")
def a_time_given_to_c_code():
    return tied(lambda self, x: x * datetime.timedelta(seconds=time.time()).days)


@equal
def an_own_type_error_is_caught():
    def body(self, x):
        try:
            return x * datetime.timedelta(seconds="1").days
        except TypeError as error:
            return x * (2 if "str" in str(error) else 3)

    return tied(body)


# -- hashes that are addresses -----------------------------------------------------------------------------------------


@equal
def results_by_the_hash_of_a_layer():
    def body(self, x):
        cache = {}
        for layer in self.layers:
            if hash(layer) not in cache:
                cache[hash(layer)] = layer(x)
            x = cache[hash(layer)]
        return x if hash(self.a) == self.a.__hash__() != hash(self.b) else x * 2

    return tied(body)


@equal
def hashes_of_functions_and_dtypes():
    def f(x):
        found = {hash(fn): fn(x) for fn in (torch.sin, torch.cos, torch.sin)}
        return sum(found.values()) * len({hash(x.dtype), hash(torch.float32)})

    return f, (t(3),)


@refused("unrecordable-id")
def the_order_of_hashes():
    def body(self, x):
        for layer in sorted([self.a, self.b], key=hash):
            x = layer(x)
        return x

    return tied(body)


@refused("unrecordable-id")
def the_hash_of_an_object_that_dies():
    def f(x):
        return x * len({hash(object()) for _ in range(3)})

    return f, (t(3),)


@refused("unrecordable-id")
def a_number_made_of_a_hash():
    return tied(lambda self, x: x * (hash(self.a) % 7))


@equal
def hashes_of_two_arguments():
    def f(x, y):
        return x * 2 if hash(x) == hash(y) else x * 3

    x, y = t(3), t(3)
    return Case(f, (x, y), also=[((x, x), {})])
