"""guards/ and symbolic_shapes/ are at the top of the repository and are installed as packages in dynamo_lite.

Where the repository is hosted is known to who releases it: `PROJECT_URL=https://... make release`. The metadata have it
then, and the links of README, which an index shows without the files beside it, lead to the files of that version.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

BESIDE = ["guards", "symbolic_shapes"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
"""A link of Markdown to a file; with "!" it is a picture."""

inside = find_packages(include=[pattern for name in BESIDE for pattern in (name, f"{name}.*")])
here = Path(__file__).parent
readme = (here / "README.md").read_text(encoding="utf-8")
tag = "v" + tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
url = os.environ.get("PROJECT_URL", "").rstrip("/")
pages, pictures = f"{url}/blob/{tag}", f"{url}/raw/{tag}"
if url:
    readme = LINK.sub(lambda m: f"{m[1]}[{m[2]}]({pictures if m[1] else pages}/{m[3]})", readme)

setup(
    packages=find_packages(include=["dynamo_lite", "dynamo_lite.*"]) + [f"dynamo_lite.{name}" for name in inside],
    package_dir={f"dynamo_lite.{name}": name for name in BESIDE},
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls={"Source": url, "Documentation": f"{pages}/docs", "Changelog": f"{pages}/CHANGELOG.md"} if url else {},
)
