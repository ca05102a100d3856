"""The wheel in a fresh venv, in a folder with the user's own guards.py and symbolic_shapes.py: README's examples, the
commands, exportdb without numpy, the types of a user's file. Nothing is downloaded; torch is that of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "dynamo_lite_autoload.py",
    "dynamo_lite",
    "guards",
    "symbolic_shapes",
)

FILES = Path(__file__).parent / "users_files"

# Parts of torch that mypy need not read for these types; it reads thousands of files otherwise.
UNREAD = """\
[mypy]
[mypy-torch._dynamo.*,torch._inductor.*,torch._functorch.*,torch._refs.*,torch._decomp.*,torch._prims.*,\
torch._higher_order_ops.*,torch._subclasses.*,torch.distributed.*,torch.fx.*,torch.onnx.*,torch.jit.*,torch.ao.*,\
torch.utils.*,torch.testing.*,torch.sparse.*,torch.optim.*,numpy.*]
follow_imports = skip
"""

pytest.importorskip("setuptools", minversion="77")


class Installed:
    """A venv with the wheel, and a folder of a user's."""

    def __init__(self, folder: Path) -> None:
        self.wheel = _built(folder / "build")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.python = folder / "venv" / "bin" / "python"
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        words = ["install", "--quiet", "--no-deps", "--no-compile", "--target", str(site), str(self.wheel)]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        (site / "torch.pth").write_text(sysconfig.get_paths()["purelib"])  # torch and what it needs; no .pth of there
        self.site = site
        self.user = folder / "user"
        self.user.mkdir()
        (self.user / "guards.py").write_text("MINE = 'guards'\n")
        (self.user / "symbolic_shapes.py").write_text("MINE = 'symbolic_shapes'\n")

    def run(self, *words: str, code: int = 0) -> str:
        done = self.process(str(self.python), *words)
        assert done.returncode == code, (done.stdout[-2000:], done.stderr[-4000:])
        return done.stdout

    def process(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            command, cwd=self.user, env=environment, capture_output=True, text=True, check=False, timeout=500
        )


def copied(source: Path) -> None:
    """What a package is built from, in a folder of its own."""
    source.mkdir(parents=True)
    for name in PARTS:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, source / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, source / name)


def _built(folder: Path) -> Path:
    """The wheel, from the source distribution."""
    copied(folder / "source")
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=folder / "source", check=True, capture_output=True)
    (source,) = folder.glob("*.tar.gz")
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


def test_what_is_in_the_wheel(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"dynamo_lite", "dynamo_lite_autoload.py"}
    for name in (
        "dynamo_lite/py.typed",
        "dynamo_lite/guards/guard_set.py",
        "dynamo_lite/symbolic_shapes/environment.py",
        "dynamo_lite/report/templates/report.html",
        "dynamo_lite/report/templates/report.js",
        "dynamo_lite/exportdb/templates/index.html",
        "dynamo_lite/lab/known_holes.toml",
        "dynamo_lite/doctor/manifests/2.13.json",
    ):
        assert name in names


def test_the_users_own_modules_stay_theirs(installed: Installed) -> None:
    code = (
        "import dynamo_lite, guards, symbolic_shapes, torch, sys\n"
        "program = dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))\n"
        "print(guards.MINE, symbolic_shapes.MINE, dynamo_lite.__file__)"
    )
    own, other, file = installed.run("-c", code).split()
    assert (own, other) == ("guards", "symbolic_shapes") and Path(file).is_relative_to(installed.site)


def test_the_examples_of_the_readme(installed: Installed) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    (installed.user / "readme.py").write_text("\n".join(blocks))
    installed.run("readme.py")


def test_the_commands(installed: Installed) -> None:
    (installed.user / "model.py").write_text("import torch\nnet = torch.nn.Linear(2, 2)\n")
    words = ["-m", "dynamo_lite", "export", "model.py:net", "-i", "torch.ones(3, 2)", "-d", "input:0=n"]
    found = json.loads(installed.run(*words, "-o", "net.pt2", "--json"))
    assert found["ok"] and (installed.user / "net.pt2").is_file()
    installed.run("-m", "dynamo_lite", "report", "model.py:net", "-i", "torch.ones(3, 2)", "-o", "net.html")
    assert "<!DOCTYPE html>" in (installed.user / "net.html").read_text()
    assert "nothing is missing" in installed.run("-m", "dynamo_lite", "doctor")


@pytest.mark.parametrize("words", [["list"], ["search", "cond"], ["search", "numpy"]], ids=" ".join)
def test_exportdb_without_numpy(installed: Installed, words: list[str]) -> None:
    code = (
        "import sys, runpy; sys.modules['numpy'] = None; sys.argv = ['exportdb', *sys.argv[1:]]\n"
        "runpy.run_module('dynamo_lite.exportdb', run_name='__main__')"
    )
    assert "\t" in installed.run("-c", code, *words)


def _checked(installed: Installed, *command: str) -> set[tuple[str, int]]:
    """The lines with errors of the type checker in the user's files. Errors elsewhere count as well."""
    for name in ("typed.py", "typos.py"):
        shutil.copy(FILES / name, installed.user)
    done = installed.process(*command, "typed.py", "typos.py")
    lines = [line for line in done.stdout.splitlines() if re.search(r"\berror\b:", line)]
    assert lines, (done.stdout, done.stderr)
    places = [re.search(r"([\w.]+\.py):(\d+)\b", line) for line in lines]
    assert all(places), lines
    return {(place[1], int(place[2])) for place in places if place is not None}


def _typos() -> set[tuple[str, int]]:
    lines = (FILES / "typos.py").read_text("utf-8").splitlines()
    return {("typos.py", number) for number, line in enumerate(lines, 1) if line.endswith("# typo")}


def test_mypy_finds_the_typos_in_a_users_file(installed: Installed) -> None:
    pytest.importorskip("mypy")
    (installed.user / "mypy.ini").write_text(UNREAD)
    words = ["-m", "mypy", "--python-executable", str(installed.python), "--strict", "--cache-dir", "cache"]
    assert _checked(installed, sys.executable, *words) == _typos()


def test_pyright_finds_the_typos_in_a_users_file(installed: Installed) -> None:
    pyright = shutil.which("pyright")  # `npm install --global pyright`; pip's package of this name gets it from npm
    if pyright is None:
        pytest.skip("no pyright on PATH")
    assert _checked(installed, pyright, "--pythonpath", str(installed.python)) == _typos()


def test_the_types_that_an_editor_shows(installed: Installed) -> None:
    pytest.importorskip("mypy")
    (installed.user / "shown.py").write_text(
        "import torch\n"
        "import dynamo_lite\n"
        "reveal_type(dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)))\n"
        "reveal_type(dynamo_lite.trace(torch.nn.Linear(2, 2), (torch.ones(1, 2),)))\n"
        "reveal_type(dynamo_lite.load('net.pt2').notes)\n"
    )
    (installed.user / "mypy.ini").write_text(UNREAD)
    words = ["-m", "mypy", "--python-executable", str(installed.python), "--strict", "--cache-dir", "cache", "shown.py"]
    done = installed.process(sys.executable, *words)
    shown = re.findall('Revealed type is "([^"]*)"', done.stdout)
    assert [text.split("[")[0].rpartition(".")[2] for text in shown] == ["Program", "Trace", "Mapping"], done.stdout
