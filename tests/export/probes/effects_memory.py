"""Writes into memory: array, bytearray, memoryview, numpy, ctypes."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import array
import ctypes
import io

import numpy as np

from ..probe import equal, refused, sound, t
from .writers import STATE, Model

# ---- array, bytearray, memoryview, numpy, ctypes: memory that Python code writes into


@refused(STATE)
def array_item():
    def body(self, x):
        self.data[0] += 1
        return x * self.data[0]

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@refused(STATE)
def array_append():
    def body(self, x):
        self.data.append(3)
        return x * len(self.data)

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@refused(STATE)
def array_extended_by_operator():
    def body(self, x):
        self.data += array.array("i", [3])
        return x * len(self.data)

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@equal
def array_of_its_own():
    def body(self, x):
        data = array.array("i", [1, 2])
        data.append(3)
        data[0] = 5
        return x * sum(data)

    return Model(body), (t(3),)


@equal
def array_is_put_back():
    def body(self, x):
        self.data[0] = 7
        y = x * self.data[0]
        self.data[0] = 1
        return y

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@sound(STATE, "outside-object")
def memoryview_of_a_bytearray():
    def body(self, x):
        self.view[0] = (self.view[0] + 1) % 7
        return x * self.data[0]

    data = bytearray(b"\x01\x02")
    return Model(body, data=data, view=memoryview(data)), (t(3),)


@sound(STATE, "outside-object")
def memoryview_made_in_forward():
    def body(self, x):
        view = memoryview(self.data)
        view[0] = (view[0] + 1) % 7
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object")
def memoryview_of_an_array_slice():
    def body(self, x):
        memoryview(self.data)[0:1] = array.array("i", [self.data[0] + 1])
        return x * self.data[0]

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@equal
def memoryview_of_its_own():
    def body(self, x):
        data = bytearray(b"\x01\x02")
        memoryview(data)[0] = 5
        return x * data[0]

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def bytearray_filled_by_struct():
    import struct

    def body(self, x):
        struct.pack_into("B", self.data, 0, self.data[0] + 1)
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def bytearray_read_into():
    def body(self, x):
        io.BytesIO(bytes([self.data[0] + 1])).readinto(self.data)
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object")
def numpy_item():
    def body(self, x):
        self.data[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_in_place_operator():
    def body(self, x):
        self.data += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_out_argument():
    def body(self, x):
        np.add(self.data, 1, out=self.data)
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_method_fill():
    def body(self, x):
        self.data.fill(float(self.data[0]) + 1)
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_sort_in_place():
    def body(self, x):
        y = x * float(self.data[0])
        self.data.sort()
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_copyto():
    def body(self, x):
        y = x * float(self.data[0])
        np.copyto(self.data, 5.0)
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_ufunc_at():
    def body(self, x):
        y = x * float(self.data[0])
        np.add.at(self.data, [0], 5.0)
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_through_a_view():
    def body(self, x):
        part = self.data[:1]
        part[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_through_flat():
    def body(self, x):
        self.data.flat[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_shape_assigned():
    def body(self, x):
        y = x * len(self.data)
        self.data.shape = (4, 1)
        return y

    return Model(body, data=np.ones((2, 2))), (t(3),)


@equal
def numpy_of_its_own():
    def body(self, x):
        data = np.ones(2)
        data[0] = 3
        data += 1
        np.add(data, 1, out=data)
        return x * float(data.sum())

    return Model(body), (t(3),)


@equal
def numpy_table_read():
    def body(self, x):
        return x * float(np.sqrt(self.data).sum()) + float(self.data.max())

    return Model(body, data=np.arange(3.0)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def ctypes_array_item():
    def body(self, x):
        self.data[0] += 1
        return x * self.data[0]

    return Model(body, data=(ctypes.c_int * 2)(1, 2)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def ctypes_value():
    def body(self, x):
        self.data.value += 1
        return x * self.data.value

    return Model(body, data=ctypes.c_int(1)), (t(3),)
