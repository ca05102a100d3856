"""Which versions of torch the packages here run on, and what differs between them, as data.

    supported.py   the range of versions, the installed one, the check at import
    tables.py      rows with `since` and `until`: the symbols that a file uses, values that differ by version

No file here imports torch.
"""

from torch_versions.supported import NEWEST as NEWEST
from torch_versions.supported import OLDEST as OLDEST
from torch_versions.supported import TorchVersionWarning as TorchVersionWarning
from torch_versions.supported import check as check
from torch_versions.supported import installed as installed
from torch_versions.tables import Symbol as Symbol
from torch_versions.tables import Variant as Variant
from torch_versions.tables import applies as applies
from torch_versions.tables import current as current

__all__ = [
    "NEWEST",
    "OLDEST",
    "Symbol",
    "TorchVersionWarning",
    "Variant",
    "applies",
    "check",
    "current",
    "installed",
]
