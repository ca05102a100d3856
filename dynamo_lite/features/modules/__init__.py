"""Calls and attributes of nn.Module, and what torch wraps functions and modules in.

`calls.py` keeps the module stack and calls `forward`; `attributes.py` answers `nn.Module.__getattr__` with the reads
that its Python would make; `wrappers.py` goes through torch.compile, torch.compiler.disable and checkpoint to what is
inside. In each case the interpreter could run torch's own Python instead, and does where its frames are seen.
"""
