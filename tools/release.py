"""Build the sdist and the wheel, and check them; publish nothing (docs/releasing.md).

    python tools/release.py [--out DIST] [--torch-of PYTHON]

1. The version of pyproject.toml, `dynamo_lite.__version__`, CITATION.cff and CHANGELOG.md must agree.
2. The sdist is built, the wheel from the sdist; `twine check --strict` reads both.
3. The sdist must have every file of the repository, no link, and names that each file system takes.
4. The wheel is installed in a fresh venv, with the dependencies that pip finds, or with the torch of another Python
   (--torch-of: nothing is downloaded). There `dynamo-lite --version`, `dynamo-lite doctor`, and README's blocks run.
5. The text of the tag is printed.

Run it by a Python that has `build` and `twine` (`make release` makes one). Exits with 1 at the first check that fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = 0o120000
_CHARACTERS = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_LONGEST = 180
"""Characters of a path in the repository: Windows allows 260 with the folders above."""


class Failed(SystemExit):
    """A check of the release has failed. The message says which."""


def versions() -> dict[str, str]:
    """Return the version that each file states."""
    project = tomllib.loads(_text("pyproject.toml"))["project"]["version"]
    found = {"pyproject.toml": str(project)}
    for name, pattern in (
        ("dynamo_lite/__init__.py", r'^__version__ = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## (\S+)(?: \(unreleased\))?$"),
    ):
        match = re.search(pattern, _text(name), re.MULTILINE)
        found[name] = match[1] if match else "none"
    return found


def tag_text(version: str) -> str:
    """Return the section of CHANGELOG.md on a version."""
    section = rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)"
    match = re.search(section, _text("CHANGELOG.md"), re.MULTILINE | re.DOTALL)
    return f"dynamo-lite {version}\n\n{match[1].strip() if match else ''}\n"


def tracked() -> list[str]:
    """Return the files of the repository."""
    listed = _run(["git", "ls-files", "-z"], capture=True)
    return [name for name in listed.split("\0") if name]


def _text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _run(words: Sequence[str | Path], cwd: Path = ROOT, capture: bool = False) -> str:
    # The environment's PYTHONPATH would put the checkout before what is installed.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(words, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE if capture else None)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: exit status {done.returncode}")
    return done.stdout or ""


def check_sdist(path: Path, files: Iterable[str]) -> None:
    """Raise Failed unless the sdist has each of the files, and only regular files."""
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    links = [member.name for member in members if not (member.isfile() or member.isdir())]
    names = {member.name.partition("/")[2] for member in members}
    missing = sorted(set(files) - names)
    _none(links, "links in the sdist")
    _none(missing, "files that the sdist lacks")
    _none(unportable(names), "names that some file systems do not take")


def check_wheel(path: Path) -> None:
    """Raise Failed if the wheel has links, or names that some file systems do not take."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    links = [entry.filename for entry in entries if (entry.external_attr >> 16) & 0o170000 == _LINK]
    _none(links, "links in the wheel")
    _none(unportable(entry.filename for entry in entries), "names that some file systems do not take")


def unportable(names: Iterable[str]) -> list[str]:
    """Return the paths that Windows cannot hold, and those that differ from another in case only.

    Microsoft, "Naming Files, Paths, and Namespaces"."""
    names = sorted({*names})
    spelled = Counter(path.casefold() for path in {path for name in names for path in _prefixes(name)})
    twice = {path for path, count in spelled.items() if count > 1}
    return [
        name
        for name in names
        if len(name) > _LONGEST or _has_bad_part(name) or not twice.isdisjoint(_prefixes(name.casefold()))
    ]


def _prefixes(name: str) -> list[str]:
    """Return a path and the folders above it."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _has_bad_part(name: str) -> bool:
    parts = [part for part in name.split("/") if part]
    return any(_CHARACTERS.search(part) or _RESERVED.fullmatch(part) or part[-1] in ". " for part in parts)


def _none(found: Sequence[str], what: str) -> None:
    if found:
        raise Failed(f"{what}: {', '.join(found[:10])}")


def install(wheel: Path, folder: Path, torch_of: str | None) -> Path:
    """Install the wheel in a fresh venv. Return the folder of its executables."""
    _run([sys.executable, "-m", "venv", *(["--without-pip"] if torch_of else []), folder])
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    if torch_of is None:
        pinned = re.search(r"^torch==\S+$", _text("constraints.txt"), re.MULTILINE)
        pip: list[str | Path] = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, pinned[0] if pinned else "torch"])  # first, and pinned: else pip may take a build with CUDA
        _run([*pip, wheel])
        return programs
    site = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    other, own = (_run([python, "-c", site], capture=True).strip() for python in (torch_of, programs / "python"))
    using: list[str | Path] = [torch_of, "-m", "pip", "--python", programs / "python", "install", "--no-deps"]
    _run([*using, "--quiet", "--disable-pip-version-check", wheel])
    (Path(own) / "torch.pth").write_text(other)
    return programs


def try_out(programs: Path, folder: Path, version: str) -> None:
    """Raise Failed unless the commands and README's blocks run, away from the repository."""
    folder.mkdir()
    printed = _run([programs / "dynamo-lite", "--version"], folder, capture=True).strip()
    if printed != f"dynamo-lite {version}":
        raise Failed(f"dynamo-lite --version prints {printed!r}")
    blocks = re.findall(r"```python\n(.*?)```", _text("README.md"), re.DOTALL)
    (folder / "readme.py").write_text("\n".join(blocks), "utf-8")
    _run([programs / "python", "readme.py"], folder, capture=True)
    _run([programs / "dynamo-lite", "doctor"], folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of the sdist and the wheel")
    parser.add_argument("--torch-of", metavar="PYTHON", help="a Python that has torch: the venv uses its packages")
    options = parser.parse_args()
    stated = versions()
    version = stated["pyproject.toml"]
    if len({*stated.values()}) > 1:
        raise Failed(f"the versions differ: {stated}")
    out = options.out.resolve()
    for old in out.glob("dynamo_lite-*"):
        old.unlink()
    print(f"building dynamo-lite {version}", flush=True)
    _run([sys.executable, "-m", "build", "--outdir", out, ROOT], capture=True)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    _run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    check_sdist(sdist, tracked())
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as folder:
        print("trying it out in a fresh venv", flush=True)
        programs = install(wheel, Path(folder) / "venv", options.torch_of)
        try_out(programs, Path(folder) / "user", version)
    print(f"{sdist.name} and {wheel.name} are in {out.name}/. The text of the tag v{version}:\n")
    print(tag_text(version))


if __name__ == "__main__":
    main()
