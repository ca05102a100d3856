"""How functions are called in errors: as programs write them, not by the names that C gave them."""

from __future__ import annotations

# Names in CPython and torch → names that programs use. The first that fits counts.
SPELLINGS: tuple[tuple[str, str], ...] = (
    ("torch._C.TensorBase.", "torch.Tensor."),
    ("torch._C._TensorBase.", "torch.Tensor."),
    ("_random.Random.", "random."),
    ("random.Random.", "random."),
    ("os._Environ.__setitem__", "os.environ[...] = ..."),
    ("os._Environ.__delitem__", "del os.environ[...]"),
    ("posix.", "os."),
)


def spelled(text: str) -> str:
    """`text` with the names in it as programs write them."""
    for said, written in SPELLINGS:
        text = text.replace(said, written)
    return text
