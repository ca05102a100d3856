"""Rules for calls and attributes where a FakeTensor would not answer as a tensor with data does.

`attributes.py` listens to reads and writes, `methods.py`, `constructors.py` and `subclass_constructors.py` to calls,
`numpy_arrays.py` to arrays on a tensor's memory.
Called through the registry of rules and through the tables of reads and writes. Imports `tracing/vocabulary`,
`capture/fakes` and `interpreter`.
"""
