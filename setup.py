"""guards/ and symbolic_shapes/ are at the top of the repository and are installed as packages in dynamo_lite."""

from setuptools import find_packages, setup

BESIDE = ["guards", "symbolic_shapes"]
inside = find_packages(include=[pattern for name in BESIDE for pattern in (name, f"{name}.*")])

setup(
    packages=find_packages(include=["dynamo_lite", "dynamo_lite.*"]) + [f"dynamo_lite.{name}" for name in inside],
    package_dir={f"dynamo_lite.{name}": name for name in BESIDE},
)
