"""The doctor: complete on the versions that were checked, and it sees what is missing, moved or behaves otherwise."""

from __future__ import annotations

import re

import pytest
import torch

import dynamo_lite.__main__ as command
from dynamo_lite.doctor import contracts, manifest, report
from dynamo_lite.doctor.resolve import MISSING, describe, resolve
from dynamo_lite.doctor.tables import entries
from dynamo_lite.symbolic_shapes.torch_versions import Variant, applies, installed
from dynamo_lite.symbolic_shapes.torch_versions.supported import CHECKED, NEWEST, OLDEST, parse


def test_the_installed_torch_is_as_its_manifest_says() -> None:
    found = report.examine(with_contracts=False)
    assert found.findings == [] and found.compared_with == f"{installed()[0]}.{installed()[1]}"


@pytest.mark.parametrize("contract", contracts.CONTRACTS, ids=lambda contract: contract.name)
def test_contract(contract: contracts.Contract) -> None:
    assert [said for row, said in contracts.broken() if row is contract] == []


def test_there_is_a_manifest_for_each_version() -> None:
    assert manifest.known() == [parse(version) for version in CHECKED]
    for version in manifest.known():
        assert set(manifest.read(version)) == set(manifest.names(version))


def test_each_contract_has_one_answer_for_each_version() -> None:
    for contract in contracts.CONTRACTS:
        for minor in range(OLDEST[1], NEWEST[1] + 2):
            contracts.current(*contract.expected, version=(2, minor))
    assert len(contracts.CONTRACTS) >= 20


def test_what_is_missing_is_said_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch.utils._pytree.keystr")
    found = [f for f in report.examine(with_contracts=False).findings if f.name.endswith(":keystr")]
    assert {f.kind for f in found} == {"missing"}
    assert {f.where.rpartition("/")[2]: f.costs for f in found} == {
        "_torch_contracts.py": "the doctor's contracts",
        "_torch_pytree.py": "every export and trace",
    }


def test_how_an_enum_is_called_is_pythons_and_not_torchs() -> None:
    assert resolve("torch.utils._sympy.symbol:SymT") == "EnumType"  # its parameters changed in Python 3.12


def test_what_torch_sets_when_it_needs_it_has_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    if installed()[:2] != (2, 13):
        pytest.skip("the variable is torch 2.13's")
    for value in (None, re):
        monkeypatch.setattr("torch.autograd.profiler._cupti_monitor_module", value)
        assert report.examine(with_contracts=False).findings == []


def test_what_has_moved_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.utils._pytree.keystr", lambda kp, separator="": "")
    found = [f for f in report.examine(with_contracts=False).findings if f.name.endswith(":keystr")]
    assert {f.kind for f in found} == {"moved"}
    assert found[0].text == "was function(kp), is function(kp, separator=)"


def test_what_behaves_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lies(contracts.FakeTensor):
        pass

    monkeypatch.setattr(contracts, "FakeTensor", Lies)
    assert [row.name for row, _ in contracts.broken()] == ["a_fake_tensor_is_of_a_python_class"]


def test_an_error_in_a_contract_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    row = contracts.Contract("asks", lambda: {}["answer"], (Variant(True),), "nothing")
    monkeypatch.setattr(contracts, "CONTRACTS", [row])
    assert [said for _, said in contracts.broken()] == ['expected True, is "KeyError: \'answer\'"']


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("torch.utils._pytree:keystr", "function(kp)"),
        ("torch._C:TensorBase._is_view", "method_descriptor"),
        ("torch.export.exported_program:ExportedProgram._guards_code", "attribute of instances"),
        ("torch._dynamo.decorators#_dynamo_dynamic_indices", "word of the source"),
    ],
)
def test_what_a_name_stands_for(name: str, found: str) -> None:
    assert resolve(name) == found


@pytest.mark.parametrize(
    "name", ["torch.nowhere:f", "torch._C:TensorBase._nothing", "torch._dynamo.decorators#_nothing"]
)
def test_a_name_of_nothing(name: str) -> None:
    assert resolve(name).startswith(MISSING)


def test_a_signature_as_text() -> None:
    def function(a: int, *rest: int, b: int = 1, **others: int) -> None: ...

    assert describe(function) == "function(a, *rest, b=, **others)"
    assert describe(torch.add) == "builtin_function_or_method"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert f"torch {torch.__version__} (tested" in printed and "nothing is missing, nothing has moved" in printed
    rows, names, count = map(int, re.findall(r"(\d+) (?:rows|names|contracts)", printed))
    assert (rows, count) == (sum(applies(e.symbol) for e in entries()), len(contracts.CONTRACTS)) and names > 50


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch.utils._pytree.keystr")
    assert command.main(["doctor", "--no-contracts"]) == 1
    assert "missing" in capsys.readouterr().out
