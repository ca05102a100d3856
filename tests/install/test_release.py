"""The checks of a release (tools/release.py; .ci/run makes one), and the entry point of `import torch`."""

from __future__ import annotations

import email
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools import release
from tools.release import unportable

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "names",
    [["a/B.py", "a/b.py"], ["Docs/x.md", "docs/y.md"], ["a:b"], ["aux.py"], ["lib/NUL"], ["end."], ["a?"], ["x" * 300]],
    ids=lambda names: names[0][:12],
)
def test_names_that_some_file_systems_do_not_take(names: list[str]) -> None:
    assert unportable(["fine/name.py", *names])


def test_names_that_all_file_systems_take() -> None:
    assert unportable(["a/b.py", "a/c.py", "console.py", "com/x.py", ".ci/run", "a.b/c.d.e"]) == []


def test_the_version_is_the_same_everywhere() -> None:
    assert len({*release.versions().values()}) == 1, release.versions()


def test_the_text_of_a_tag_is_the_section_of_the_version() -> None:
    text = release.tag_text("0.1.0")
    assert text.startswith("dynamo-lite 0.1.0\n\n### Added") and "0.2.0" not in text


def _sdist(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b""))
    return path


def test_an_sdist_that_lacks_a_file(tmp_path: Path) -> None:
    path = _sdist(tmp_path / "p.tar.gz", tarfile.TarInfo("p-1/there.py"))
    release.check_sdist(path, ["there.py"])
    with pytest.raises(release.Failed, match=r"the sdist lacks: docs/not_there\.md"):
        release.check_sdist(path, ["there.py", "docs/not_there.md"])


def test_an_sdist_with_a_link(tmp_path: Path) -> None:
    link = tarfile.TarInfo("p-1/link.py")
    link.type, link.linkname = tarfile.SYMTYPE, "there.py"
    with pytest.raises(release.Failed, match="links"):
        release.check_sdist(_sdist(tmp_path / "p.tar.gz", link), [])


def _autoload(value: str | None, before: str) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "DYNAMO_LITE_AS_TORCH_EXPORT"}
    if value is not None:
        environment["DYNAMO_LITE_AS_TORCH_EXPORT"] = value
    code = f"{before}\nimport sys, dynamo_lite_autoload\ndynamo_lite_autoload.autoload()\nprint('torch' in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("value", [None, "0"])
def test_the_entry_point_imports_nothing_unless_it_is_asked_to(value: str | None) -> None:
    done = _autoload(value, "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_an_entry_point_that_fails_does_not_end_import_torch() -> None:
    done = _autoload("1", "import sys\nsys.modules['dynamo_lite.under_torch_export'] = None")
    assert done.returncode == 0 and "DYNAMO_LITE_AS_TORCH_EXPORT=1 has no effect" in done.stderr


@pytest.mark.parametrize("url", ["", "https://example.org/tracer/"])
def test_where_the_repository_is_hosted(url: str, tmp_path: Path) -> None:
    """With PROJECT_URL the metadata name it, and each link of README to a file leads there."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    code = "import sys; from setuptools.build_meta import prepare_metadata_for_build_wheel as made; made(sys.argv[1])"
    (tmp_path / "metadata").mkdir()
    environment = {**os.environ, "PROJECT_URL": url}
    command = [sys.executable, "-W", "ignore", "-c", code, "metadata"]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    (path,) = tmp_path.glob("metadata/*.dist-info/METADATA")
    metadata = email.message_from_string(path.read_text("utf-8"))
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", str(metadata.get_payload()))
    assert len(links) > 30 and metadata["Description-Content-Type"] == "text/markdown"
    if not url:
        assert metadata.get_all("Project-URL") is None and not any(target.startswith("http") for _, target in links)
        return
    at = f"https://example.org/tracer/{{}}/v{release.versions()['pyproject.toml']}/"
    assert all(target.startswith(at.format("raw" if picture else "blob")) for picture, target in links)
    assert "Source, https://example.org/tracer" in metadata.get_all("Project-URL", [])
