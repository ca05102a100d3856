"""Calls and attributes of nn.Module, and torch's wrappers of functions and modules.

`calls.py` maintains the module stack and calls `forward`; `attributes.py` answers `nn.Module.__getattr__` with the
reads that its Python would make; `wrappers.py` goes through torch.compile, torch.compiler.disable and checkpoint to the
inner callable. In each case the interpreter could run torch's own Python instead, and does if its frames are seen.
"""
