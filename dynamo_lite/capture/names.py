"""Names of placeholders, as torch.export gives them (placeholder_naming_pass in torch/_export/utils.py)."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence

# What the code that fx generates says itself (torch/fx/graph.py, _register_custom_builtin): an argument of that name
# would hide it. Other builtins may be hidden, as torch.export does ("input", "max").
RESERVED = frozenset({"self", "torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree", *keyword.kwlist})

_NOT_IDENTIFIER = re.compile(r"[^a-zA-Z0-9]")


def sanitize(text: str) -> str:
    """Every character that is no ASCII letter or digit becomes an underscore."""
    return _NOT_IDENTIFIER.sub("_", text)


def unique(name: str, used: set[str]) -> str:
    """`name`, or `name_1`, `name_2`, ... if it is taken. The result is added to `used`."""
    candidate, number = name, 0
    while candidate in used:
        number += 1
        candidate = f"{name}_{number}"
    used.add(candidate)
    return candidate


def lifted_names(prefixed: Iterable[tuple[str, str]], used: set[str]) -> list[str]:
    """Names for (prefix, FQN) pairs: ("p_", "layers.0.weight") is p_layers_0_weight. Adds them to `used`.

    A leading "self_" goes, as in torch.export: self_attn.weight is p_attn_weight.
    """
    return [unique(prefix + sanitize(fqn.removeprefix("self_")).lower(), used) for prefix, fqn in prefixed]


def input_names(paths: Iterable[Sequence[str]]) -> list[str]:
    """Names for the flat inputs from their paths: ("cache", "0", "key") is cache_0_key. All distinct, none reserved."""
    used: set[str] = set(RESERVED)
    return [unique("_".join(sanitize(part).lower() for part in path), used) for path in paths]
