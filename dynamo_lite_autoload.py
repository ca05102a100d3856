"""Called by `import torch` (entry point of the group "torch.backends") wherever dynamo-lite is installed.

A module of its own, which imports nothing of dynamo-lite unless it is asked to: `import torch` costs what it did. An
error here would end `import torch`, so what cannot be installed is a warning.
"""

from __future__ import annotations

import os


def autoload() -> None:
    """Put dynamo-lite under torch.export.export for this process, if DYNAMO_LITE_AS_TORCH_EXPORT is 1."""
    if os.environ.get("DYNAMO_LITE_AS_TORCH_EXPORT") != "1":
        return
    try:
        from dynamo_lite.under_torch_export import install

        install()
    except Exception as error:
        import warnings

        text = f"DYNAMO_LITE_AS_TORCH_EXPORT=1 has no effect: {type(error).__name__}: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
