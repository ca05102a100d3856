"""Called by `import torch` (entry point of the group "torch.backends") wherever dynamo-lite is installed.

A module of its own, which imports nothing of dynamo-lite unless it is asked to: `import torch` costs what it did.
"""

from __future__ import annotations

import os


def autoload() -> None:
    """Put dynamo-lite under torch.export.export for this process, if DYNAMO_LITE_AS_TORCH_EXPORT is 1."""
    if os.environ.get("DYNAMO_LITE_AS_TORCH_EXPORT") == "1":
        from dynamo_lite.under_torch_export import install

        install()
