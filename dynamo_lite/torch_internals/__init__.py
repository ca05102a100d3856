"""The private torch API that dynamo-lite stands on: one file a concern, with the version that it was checked with.

Each file `_torch_*.py` has a table SYMBOLS of the names that it uses, which `python -m dynamo_lite doctor` holds
against the torch that is installed. Other packages have such files of their own.
Used by every package that touches torch. Imports torch and `symbolic_shapes.torch_versions` alone.
"""
