"""The certificates of exported programs, verified in a process that cannot import torch."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.certificates import checker, files, floats
from dynamo_lite.certificates.__main__ import run
from dynamo_lite.program.certificates import ENTRY
from tests.certificates.documents import signed

WITHOUT_TORCH = (
    "import runpy, sys; sys.modules['torch'] = None; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)
FOLDER = Path(checker.__file__).parent


class Model(nn.Module):
    """Sizes that are tied, halved, compared and rounded."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        half = x.shape[0] // 2
        if y.shape[0] >= half:
            x = x[:half]
        wide = nn.functional.interpolate(y[None, None], scale_factor=1.5)
        return x.reshape(-1).sum() + wide.sum() * int(x.shape[1] * 0.5)


def traced(mod: nn.Module, *args: Any, **shapes: Any) -> dynamo_lite.Trace:
    return dynamo_lite.trace(mod, args, dynamic_shapes=shapes or None)


@pytest.fixture(scope="module")
def trace() -> dynamo_lite.Trace:
    auto = {0: Dim.AUTO, 1: Dim.AUTO}
    return traced(Model(), torch.ones(6, 4), torch.ones(5, 4), x=auto, y=auto)


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=False)


def test_a_file_of_certificates(trace: dynamo_lite.Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "certificates.json"
    trace.certificates.save(path)
    assert run([str(path)], ["values"]) == 0
    assert "of Model in" in capsys.readouterr().out
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["about"]["symbols"]["s0"] == "x.shape[0]"
    assert len(document["facts"]) >= 2 and len(document["proofs"]["decisions"]) >= 2
    assert any("shape" in guard["text"] for guard in document["guards"])


def test_a_saved_program_in_a_process_without_torch(trace: dynamo_lite.Trace, tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    dynamo_lite.save(trace.program, path)
    done = _run("-c", WITHOUT_TORCH.format("dynamo_lite.lab"), "verify", path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.startswith(f"{path}: verified ")
    # The folder alone, with no package at hand but the standard library.
    alone = _run("-I", "-S", FOLDER, path, "--cross-check", "values")
    assert alone.returncode == 0 and "values: " in alone.stdout, alone.stderr
    x, y = torch.ones(6, 4), torch.ones(5, 4)
    assert torch.equal(dynamo_lite.load(path).module()(x, y), Model()(x, y))


def test_a_changed_program_file_is_rejected(trace: dynamo_lite.Trace, tmp_path: Path) -> None:
    path, other = tmp_path / "program.pt2", tmp_path / "changed.pt2"
    dynamo_lite.save(trace.program, path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(ENTRY):
                document = json.loads(data)
                document["guards"].pop()
                data = json.dumps(signed(document)).encode()
            new.writestr(name, data)
    done = _run("-m", "dynamo_lite.lab", "verify", other)
    assert done.returncode == 1 and "rejected" in done.stderr


def test_what_is_no_file_of_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    static = tmp_path / "static.pt2"
    dynamo_lite.save(dynamo_lite.export(nn.Linear(2, 2), (torch.ones(1, 2),)), static)
    for name, text in (("none.json", None), ("empty.json", ""), ("list.json", "[]"), ("other.json", "{}")):
        path = tmp_path / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        assert run([str(path)]) == (1 if name == "other.json" else 2), name
    assert run([str(static)]) == 2
    assert "it has no certificates" in capsys.readouterr().err
    assert files.ENTRY == ENTRY


def test_every_decision_is_there(trace: dynamo_lite.Trace) -> None:
    assert trace.sizes is not None
    document = trace.certificates.document()
    asked = [r for r in trace.sizes.memo.decided() if repr(r) not in ("True", "False")]
    assert len(document["proofs"]["decisions"]) >= len(asked) > 0
    assert document["unproved"] == []


def test_a_decision_without_proof_is_said(trace: dynamo_lite.Trace) -> None:
    from dataclasses import replace

    certificates = trace.certificates
    assert trace.sizes is not None
    open_question = next(iter(trace.sizes.core.symbols.values())).as_int() >= 10**6
    document = replace(certificates, questions=[*certificates.questions, open_question]).document()
    assert len(document["unproved"]) == 1
    with pytest.raises(checker.Rejected, match="decision without proof"):
        checker.verify(document)


def test_sizes_of_data(tmp_path: Path) -> None:
    """Facts that run time asserts are a source of decisions, not of guards."""

    class Picked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows = x[x[:, 0] > 0]
            torch._check(rows.shape[0] >= 2)
            return rows[:2].sum() + x.shape[0]

    x = torch.ones(4, 3)
    trace = traced(Picked(), x, x={0: Dim.AUTO})
    document = json.loads(json.dumps(trace.certificates.document()))
    floats.install(checker)
    checker.verify(document)
    assert document["checks"]


def test_a_llama_with_dynamic_batch_and_length(tmp_path: Path) -> None:
    from tests.models.core_transformers import TEXT, hf

    config = hf.LlamaConfig(**{**TEXT, "num_key_value_heads": 2})
    model = hf.LlamaForCausalLM(config).eval()
    sizes = {0: Dim("batch"), 1: Dim("length")}
    inputs = {"input_ids": torch.randint(0, 99, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    inputs["use_cache"] = False
    shapes = {"input_ids": sizes, "attention_mask": sizes, "use_cache": None}
    path = tmp_path / "llama.pt2"
    dynamo_lite.save(dynamo_lite.export(model, (), inputs, dynamic_shapes=shapes), path)
    done = _run("-c", WITHOUT_TORCH.format("dynamo_lite.lab"), "verify", path, "--cross-check", "values")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "of LlamaForCausalLM in" in done.stdout and " 0 guards" not in done.stdout
