"""torch's archive of programs (.pt2) with several programs, in which tensors that they share are written once.

Checked with torch 2.13.0 and 2.14.1.

`torch.export.pt2_archive._package.package_pt2` takes several programs, and writes the tensors of each. The archive
names of a program's tensors are in a table of its own (weights/NAME.json), so that the tables of several may name the
same files: torch's `load_pt2` reads such an archive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from torch._export.serde import schema
from torch._export.serde.serialize import serialize
from torch.export import ExportedProgram
from torch.export.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter, _package
from torch.export.pt2_archive.constants import (
    AOTINDUCTOR_DIR,
    CONSTANTS_CONFIG_FILENAME_FORMAT,
    EXTRA_DIR,
    MODELS_FILENAME_FORMAT,
    SAMPLE_INPUTS_FILENAME_FORMAT,
    WEIGHTS_CONFIG_FILENAME_FORMAT,
)
from torch.types import FileLike

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

load_pt2 = _package.load_pt2

Payloads = dict[int, Any]
"""The payloads that are written: id of a tensor → its row of the tables, with its place."""


def write_programs(f: FileLike, programs: Mapping[str, ExportedProgram], extra_files: Mapping[str, str]) -> None:
    """Writes an archive. A tensor (the very object) that several programs have is written once."""
    weights: Payloads = {}
    constants: Payloads = {}
    with PT2ArchiveWriter(os.fspath(f) if isinstance(f, os.PathLike) else f) as archive:
        for name, program in programs.items():
            rows = _package_tensors(_package._package_state_dict, archive, name, program.state_dict, weights)
            _package._package_payload_config(archive, rows, WEIGHTS_CONFIG_FILENAME_FORMAT.format(name))
            rows = _package_tensors(_package._package_constants, archive, name, program.constants, constants)
            _package._package_payload_config(archive, rows, CONSTANTS_CONFIG_FILENAME_FORMAT.format(name))
            artifact = serialize(program, serialize_state_dict=False, serialize_constants=False)
            archive.write_bytes(MODELS_FILENAME_FORMAT.format(name), artifact.exported_program)
            archive.write_bytes(SAMPLE_INPUTS_FILENAME_FORMAT.format(name), artifact.example_inputs)
        for path, text in extra_files.items():
            archive.write_string(f"{EXTRA_DIR}{path}", text)


def _package_tensors(
    package: Callable[..., Any], archive: Any, name: str, tensors: Mapping[str, Any], known: Payloads
) -> Any:
    """The table of a program's tensors, of which those that are not `known` are written by torch's function."""
    new = {fqn: tensor for fqn, tensor in tensors.items() if id(tensor) not in known}
    written = package(name, SimpleNamespace(state_dict=new, constants=new), archive).config
    known.update((id(tensor), written[fqn]) for fqn, tensor in new.items())
    return schema.PayloadConfig(config={fqn: known[id(tensor)] for fqn, tensor in tensors.items()})


WEIGHTS_ASIDE = {
    "aot_inductor.package_constants_in_so": False,
    "aot_inductor.package_constants_on_disk_format": "pickle_weights",
    "always_keep_tensor_constants": True,
    "freezing": False,
}
"""Options of Inductor with which tensors are files of the archive, each storage once for all programs, and none is a
part of the code: a small buffer that only another program writes would be written there as numbers."""


def compiled(program: ExportedProgram, options: Mapping[str, Any]) -> list[Any]:
    """Return AOTInductor's output for a program: paths of files, and the tensors."""
    import torch._inductor

    if program.example_inputs is None:
        raise RuntimeError("AOTInductor needs the example inputs of a program, which this one has lost")
    args, kwargs = program.example_inputs
    given = {**options, "aot_inductor.package": True, **WEIGHTS_ASIDE}
    made = torch._inductor.aot_compile(program.module(check_guards=False), args, kwargs, options=given)
    assert isinstance(made, list)
    return made


def write_compiled(f: FileLike, files: Mapping[str, list[Any]]) -> None:
    """Writes an archive of compiled programs."""
    _package.package_pt2(os.fspath(f) if isinstance(f, os.PathLike) else f, aoti_files=dict(files))


def load_compiled(f: FileLike) -> dict[str, Any]:
    """The compiled programs of an archive, by name, over the same tensors; nothing if it has none."""
    path = os.fspath(f) if isinstance(f, os.PathLike) else f
    with PT2ArchiveReader(path) as archive:
        if not any(name.startswith(AOTINDUCTOR_DIR) for name in archive.get_file_names()):
            return {}
    if not isinstance(path, str):
        path.seek(0)
    runners: dict[str, Any] = load_pt2(path, load_weights_from_disk=True).aoti_runners
    return runners


DISABLES = "the archive of export_methods"
"""The feature that does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch._export.serde:schema", "the rows of an archive's tables"),
    Symbol("torch.export:ExportedProgram", "the program that is written"),
    Symbol("torch.export.pt2_archive:PT2ArchiveWriter", "writes the files of an archive"),
    Symbol("torch.export.pt2_archive:PT2ArchiveReader", "reads the names of an archive's files"),
    Symbol("torch.export.pt2_archive.constants:AOTINDUCTOR_DIR", "where compiled programs are in an archive"),
    Symbol("torch.export.pt2_archive:_package", "writes the tensors of one program"),
    Symbol("torch.types:FileLike", "where to"),
    Symbol("torch.export.pt2_archive.constants:CONSTANTS_CONFIG_FILENAME_FORMAT", "the name of a file in an archive"),
    Symbol("torch.export.pt2_archive.constants:EXTRA_DIR", "the name of a file in an archive"),
    Symbol("torch.export.pt2_archive.constants:MODELS_FILENAME_FORMAT", "the name of a file in an archive"),
    Symbol("torch.export.pt2_archive.constants:SAMPLE_INPUTS_FILENAME_FORMAT", "the name of a file in an archive"),
    Symbol("torch.export.pt2_archive.constants:WEIGHTS_CONFIG_FILENAME_FORMAT", "the name of a file in an archive"),
    Symbol("torch._export.serde.schema:PayloadConfig", "the table of a program's tensors in an archive"),
    Symbol("torch._export.serde.serialize:serialize", "a program's graph as bytes"),
    Symbol("torch.export.pt2_archive._package:_package_state_dict", "writes parameters and buffers, and their table"),
    Symbol("torch.export.pt2_archive._package:_package_constants", "writes constants, and their table"),
    Symbol("torch.export.pt2_archive._package:_package_payload_config", "writes a table of tensors"),
    Symbol("torch.export.pt2_archive._package:load_pt2", "reads an archive of several programs"),
    Symbol("torch.export.pt2_archive._package:package_pt2", "writes an archive of compiled programs"),
    Symbol("torch._inductor:aot_compile", "compiles a program for an archive"),
)

__all__ = ["WEIGHTS_ASIDE", "compiled", "load_compiled", "load_pt2", "write_compiled", "write_programs"]
