"""What CPython in WebAssembly (pyodide, `make test-wasm`) has not: tests that need it are skipped there."""

from __future__ import annotations

import sys

import pytest

ON_WEBASSEMBLY = sys.platform == "emscripten"

needs_threads = pytest.mark.skipif(ON_WEBASSEMBLY, reason="WebAssembly has no threads here")
needs_processes = pytest.mark.skipif(ON_WEBASSEMBLY, reason="WebAssembly has no processes")
needs_event_loop = pytest.mark.skipif(ON_WEBASSEMBLY, reason="asyncio.run needs an event loop of the host")
