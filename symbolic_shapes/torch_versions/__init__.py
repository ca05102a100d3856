"""Which versions of torch the packages here run on, and what differs between them, as data.

    supported.py   the range of versions, the installed one, the check at import
    tables.py      rows with `since` and `until`: the symbols that a file uses, values that differ by version

No file here imports torch.

Used by every file `_torch*.py`, and checked when dynamo_lite is imported.
"""

from dynamo_lite.symbolic_shapes.torch_versions.supported import NEWEST as NEWEST
from dynamo_lite.symbolic_shapes.torch_versions.supported import OLDEST as OLDEST
from dynamo_lite.symbolic_shapes.torch_versions.supported import TorchVersionWarning as TorchVersionWarning
from dynamo_lite.symbolic_shapes.torch_versions.supported import Version as Version
from dynamo_lite.symbolic_shapes.torch_versions.supported import check as check
from dynamo_lite.symbolic_shapes.torch_versions.supported import installed as installed
from dynamo_lite.symbolic_shapes.torch_versions.tables import Symbol as Symbol
from dynamo_lite.symbolic_shapes.torch_versions.tables import Variant as Variant
from dynamo_lite.symbolic_shapes.torch_versions.tables import applies as applies
from dynamo_lite.symbolic_shapes.torch_versions.tables import current as current

__all__ = [
    "NEWEST",
    "OLDEST",
    "Symbol",
    "TorchVersionWarning",
    "Variant",
    "Version",
    "applies",
    "check",
    "current",
    "installed",
]
