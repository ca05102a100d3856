"""Texts that depend on the data of a tensor or on the number of a size: made on demand, refused or fixed when read.

`formatting.py` makes the text of an instruction an unread one (`tracing/strings/deferred_str.py`);
`native_readers.py` reads it before C code does; `tensor_repr.py` replaces torch's functions that make the text of a
tensor; `error_messages.py` is about the texts of exceptions, `format_fields.py` about the fields of `str.format`.
"""
