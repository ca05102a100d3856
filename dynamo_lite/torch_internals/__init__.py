"""The private torch API that dynamo-lite uses: one file per concern, with the version that it was checked with.

Each file `_torch_*.py` has a table SYMBOLS of the names that it uses. `python -m dynamo_lite doctor` compares it with
the installed torch. Other packages have such files of their own.
Used by every package that touches torch. Imports torch and `symbolic_shapes.torch_versions` alone.
"""
