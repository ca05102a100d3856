"""Entry points of a model compiled by AOTInductor, in one archive with the weights once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.export import ExportedProgram
from torch.types import FileLike

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.methods import _torch_archive as archive


class CompiledMethods(Mapping[str, Callable[..., Any]]):
    """Compiled entry points, by name. They share parameters and buffers: what one writes into a buffer, the others
    read."""

    def __init__(self, runners: Mapping[str, Callable[..., Any]]) -> None:
        self._runners = dict(runners)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._runners[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runners)

    def __len__(self) -> int:
        return len(self._runners)

    def __repr__(self) -> str:
        return f"<CompiledMethods: {', '.join(self)}>"


def compile_programs(programs: Mapping[str, ExportedProgram], f: FileLike, options: Mapping[str, Any]) -> None:
    """Compiles each program and writes the archive."""
    for option in ("aot_inductor.output_path", *archive.WEIGHTS_ASIDE):
        if option in options:
            raise InvalidArguments(f"{option} cannot be set: the archive holds the tensors once, beside the code")
    archive.write_compiled(f, {name: archive.compiled(program, options) for name, program in programs.items()})


def load_compiled_methods(f: FileLike) -> CompiledMethods:
    """Load an archive written by `Methods.compile`."""
    runners = archive.load_compiled(f)
    if not runners:
        raise InvalidArguments("The archive holds no compiled methods (`Methods.compile` writes such archives).")
    return CompiledMethods(runners)
