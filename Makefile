# Two commands do everything on a machine with Python 3.11-3.14, git and make:
#   make demo    make test
# PYTHON=python3.12 picks another interpreter (its own .venv-3.12), TORCH=2.15.0 another torch (its own
# .venv-torch-2.15.0). Each venv is made once: its stamp depends on pyproject.toml and constraints.txt, so a second run
# installs nothing.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-core suite light test-wasm python-3.14 compatibility doctor other-torches models downstream long lint bench tables tables-smoke mutants docs exportdb-site release release-check clean

DEFAULT_PYTHON := $(shell tools/find_python.sh)
BASE_PYTHON := $(if $(PYTHON),$(shell tools/find_python.sh $(PYTHON)),$(DEFAULT_PYTHON))
ifeq ($(BASE_PYTHON),)
$(error no working CPython 3.11, 3.12, 3.13 or 3.14 found$(if $(PYTHON), as "$(PYTHON)"); give one with PYTHON=/path/to/python)
endif
version_of = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VERSION := $(call version_of,$(BASE_PYTHON))
# The newest torch with a CPU build at hand; the others bring 4 GB of CUDA libraries (docs/torch_versions.md).
DEFAULT_TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
TORCH ?= $(DEFAULT_TORCH)
OTHER_TORCHES := $(filter-out $(DEFAULT_TORCH),$(shell grep '^CHECKED' symbolic_shapes/torch_versions/supported.py | grep -oE '[0-9]+[.][0-9]+[.][0-9]+'))
OF_TORCH := $(if $(filter $(TORCH),$(DEFAULT_TORCH)),,-torch-$(TORCH))
VENV := .venv$(if $(filter $(VERSION),$(call version_of,$(DEFAULT_PYTHON))),,-$(VERSION))$(OF_TORCH)
STAMP := $(VENV)/.installed-$(VERSION)
CONSUMERS := $(VENV)/.consumers-$(VERSION)
RUN := $(VENV)/bin/python
PIP := -m pip install --quiet --disable-pip-version-check --constraint

# Other Pythons at hand run the tests that need no torch, in light venvs.
LIGHT_VERSIONS := $(foreach v,$(filter-out $(VERSION),3.12 3.13 3.14),$(if $(shell tools/find_python.sh $(v)),$(v)))
LIGHT_PACKAGES := pytest pytest-xdist hypothesis bytecode sympy z3-solver
# Reasoning about sizes is the same Python on each version: the slow parts of its tests run once, under torch.
LIGHT_TESTS := tests/interpreter tests/symbolic_shapes \
  $(foreach part,cost proofs suggestions guards_admission guards_cost families promises tampering,--ignore tests/symbolic_shapes/test_$(part).py)

# CPython 3.14 in WebAssembly, run by node, from npm, where there is no other Python 3.14; its Python packages from PyPI, pure ones and those for pyodide. It has
# no threads, processes or asyncio.run, so no pytest-xdist either, and z3 has no wheel for it: tests that need these are
# skipped. It takes two minutes.
PYODIDE := build/pyodide
PYODIDE_VERSION := 314.0.7
PYODIDE_STAMP := $(PYODIDE)/.installed-$(PYODIDE_VERSION)
PYODIDE_PLATFORM := pyemscripten_2026_0_wasm32
PYODIDE_TESTS := $(LIGHT_TESTS) --ignore tests/interpreter/cpython tests/guards/test_guard_set.py tests/guards/test_values.py
HAS_NODE := $(shell command -v node >/dev/null && command -v npm >/dev/null && echo yes)

# What is run on the torches that are not the default: torch's interfaces, capture, dynamic shapes, higher-order
# operators, strict=False, 33 models, saved programs.
COMPATIBILITY := tests/torch_versions tests/capture tests/dynamic tests/hops tests/nonstrict tests/operators \
  tests/models/test_models.py $(wildcard tests/symbolic_shapes/test_torch_*.py)

# What one runs while working: the interpreter's data model and decoder, reads, writes, guards, the recorder, dynamic sizes, one model,
# and one program for each class of error (the cases of ExportDB with these names).
CORE_ERRORS := data_dependent_branch python_state opaque_call unsupported_operator unrecordable_value unsupported_value \
  constraint_violation input_mismatch input_structure_mismatch invalid_arguments lost_gradient program_conversion program_mode
CORE_TESTS := tests/test_layers.py tests/test_house.py tests/test_private_api.py tests/test_names_in_prose.py \
  tests/interpreter/test_core.py tests/interpreter/test_datamodel.py tests/interpreter/test_decode.py \
  tests/symbolic_shapes/test_decide.py tests/symbolic_shapes/test_checker.py tests/control_flow/test_default.py tests/export/test_engine.py \
  tests/export/test_notes.py tests/assumptions/test_call.py tests/effects/test_heap.py tests/effects/test_records.py \
  tests/capture/test_recorder.py tests/guards/test_guard_set.py tests/dynamic/test_dynamic_export.py \
  'tests/models/test_models.py::test_core_model[bert]' \
  $(foreach case,$(CORE_ERRORS),'tests/exportdb/test_cases.py::test_a_case_does_what_it_says[$(case)]')

# As on a user's machine: a test that writes a file anew and imports it again must not get the byte code of the first.
unexport PYTHONDONTWRITEBYTECODE
# Two workers pay on two cores when torch's own threads are off.
WORKERS ?= 2
IN_PARALLEL := --jobs=$(WORKERS) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
# A file stays in one process: what its tests share (programs of other processes, modules) is made once.
# A test that hangs shows the frames of all threads after ten minutes and ends its process, which pytest-xdist names.
PYTEST := -m pytest -q -n $(WORKERS) --dist loadfile --max-worker-restart 2 \
  -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
export OMP_NUM_THREADS ?= 1

help:
	@sed -n 's/^\([a-z0-9.-]*\):.*## /  make \1|/p' Makefile | column -t -s '|'

$(STAMP): pyproject.toml setup.py constraints.txt
	@echo "Installing into $(VENV) ($(BASE_PYTHON))"
	@test -x $(RUN) && test "$(VERSION)" = "$$($(RUN) -c 'import sys; print("%d.%d" % sys.version_info[:2])')" \
	  || $(BASE_PYTHON) -m venv --clear $(VENV)
	@sed 's/^torch==.*/torch==$(TORCH)/' constraints.txt > $(VENV)/constraints.txt
	@$(RUN) $(PIP) $(VENV)/constraints.txt torch==$(TORCH)
	@$(RUN) $(PIP) $(VENV)/constraints.txt --editable '.[models,downstream,dev]'
	@touch $@

$(CONSUMERS): $(STAMP)
	@echo "Installing OpenVINO, ExecuTorch, torchao and coremltools into $(VENV)"
	@$(RUN) $(PIP) $(VENV)/constraints.txt --editable '.[consumers]'
	@touch $@

.venv-light-%/.installed: constraints.txt
	@echo "Installing into $(@D) (no torch)"
	@$$(tools/find_python.sh $*) -m venv --clear $(@D)
	@$(@D)/bin/python $(PIP) constraints.txt $(LIGHT_PACKAGES)
	@touch $@

$(PYODIDE_STAMP): constraints.txt
	@echo "Installing into $(PYODIDE) (pyodide $(PYODIDE_VERSION): CPython 3.14 in WebAssembly)"
	@rm -rf $(PYODIDE) && mkdir -p $(PYODIDE)
	@npm install --silent --no-audit --no-fund --no-save --prefix $(PYODIDE) pyodide@$(PYODIDE_VERSION)
	@$(BASE_PYTHON) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --target $(PYODIDE)/site \
	  --python-version 3.14 --platform $(PYODIDE_PLATFORM) --only-binary=:all: pytest hypothesis bytecode sympy
	@touch $@

demo: $(STAMP) ## export a tiny Whisper, show the program, save, load and check it
	@$(RUN) examples/demo.py

test: ## every test; those without torch on the other Pythons at hand too
	@status=0; \
	$(MAKE) --no-print-directory --keep-going $(IN_PARALLEL) light || status=1; \
	$(MAKE) --no-print-directory suite || status=1; \
	exit $$status

suite: $(STAMP) ## every test on this Python
	@echo "All tests on Python $(VERSION)"
	@$(RUN) $(PYTEST)

test-core: $(STAMP) ## the tests to run while working: about a minute on two cores
	@$(RUN) $(PYTEST) $(CORE_TESTS)

# One process a Python: the two cores are kept busy by running two of them.
light: $(LIGHT_VERSIONS:%=test-light-%) $(if $(filter 3.14,$(VERSION) $(LIGHT_VERSIONS)),,$(if $(HAS_NODE),test-wasm)) ## the tests that need no torch, on the other Pythons at hand

.PHONY: $(LIGHT_VERSIONS:%=test-light-%)
$(LIGHT_VERSIONS:%=test-light-%): test-light-%: .venv-light-%/.installed
	@echo "Torch-free tests on Python $*"
	@.venv-light-$*/bin/python -m pytest -q $(LIGHT_TESTS)

test-wasm: $(PYODIDE_STAMP) ## the torch-free tests on Python 3.14 in WebAssembly (needs node and npm)
	@echo "Torch-free tests on Python 3.14 in WebAssembly (pyodide $(PYODIDE_VERSION))"
	@node tools/pyodide_pytest.mjs $(PYODIDE) -q $(PYODIDE_TESTS)

compatibility: $(STAMP) ## with TORCH=2.15.0: the tests of what torch itself has to do with; the doctor
	@echo "Compatibility with torch $(TORCH)"
	@$(RUN) -m dynamo_lite doctor
	@$(RUN) $(PYTEST) $(COMPATIBILITY)

doctor: $(STAMP) ## what of torch's private API the installed torch has
	@$(RUN) -m dynamo_lite doctor

other-torches: ## the compatibility tests on each supported torch that is not the default
	@status=0; for torch in $(OTHER_TORCHES); do \
	  $(MAKE) --no-print-directory compatibility TORCH=$$torch || status=1; done; exit $$status

# Debian's next release has Python 3.14: a folder outside of the repository, as root, with debootstrap.
CHROOT ?= /var/tmp/dynamo-lite-python-3.14
python-3.14: ## the compatibility tests on Python 3.14 and the newest torch, in a chroot
	@tools/python_chroot.sh $(CHROOT) 3.14
	@tools/python_chroot.sh --run $(CHROOT) make compatibility VENV=/venv PYTHON=python3.14 TORCH=$(lastword $(OTHER_TORCHES))

models: $(STAMP) ## the long list of models, with a table of results
	@$(RUN) -m tests.models.report

downstream: $(STAMP) $(CONSUMERS) ## what takes a program: Inductor, AOTInductor, ONNX and (installed here, 0.7 GB) OpenVINO, ExecuTorch, torchao, coremltools
	@$(RUN) -m pytest -q -m "long or not long" tests/downstream tests/dynamic/test_bridge.py

long: $(STAMP) ## the tests that make test leaves out, models and compilers aside: more programs, more sizes
	@$(RUN) -m pytest -q -m long tests --ignore tests/downstream --ignore tests/models

lint: $(STAMP) ## ruff and mypy
	$(RUN) -m ruff check .
	$(RUN) tools/run_mypy.py --no-incremental

bench: $(STAMP) ## the benchmarks of benchmarks/results
	$(RUN) benchmarks/export_time.py
	$(RUN) benchmarks/scaling.py

tables: $(STAMP) ## every benchmark of benchmarks/tables.toml on this commit, for hours; a page of their tables in build/tables, and docs/benchmarks.md
	@$(RUN) tools/tables.py run
	@$(RUN) tools/tables.py page
	@$(RUN) -m benchmarks.page

tables-smoke: $(STAMP) ## a small part of each: does it run, and print tables of the form of benchmarks/results? (2 minutes)
	@$(RUN) tools/tables.py smoke --jobs $(WORKERS) --seconds 280

mutants: $(STAMP) ## does a test see each change of the reasoning on sizes? (benchmarks/results/mutants.md)
	@$(RUN) tools/mutants.py

# The cases of ExportDB have pages of their own where the development environment is there: they are run for that.
docs: .venv-docs/.installed ## the documentation site, in build/site; fails for a link that leads nowhere
	@if test -f $(STAMP) && ! test -d build/site-source/exportdb; then $(RUN) -m dynamo_lite.exportdb site build/site-source/exportdb; fi
	@.venv-docs/bin/python tools/site.py build/site-source
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@ls build/site/index.html

.venv-docs/.installed: constraints-docs.txt
	@echo "Installing into .venv-docs (mkdocs)"
	@$(BASE_PYTHON) -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --requirement constraints-docs.txt
	@touch $@

exportdb-site: $(STAMP) ## the cases of ExportDB as HTML, in build/exportdb
	@$(RUN) -m dynamo_lite.exportdb site build/exportdb

release: .venv-release/.installed ## build the sdist and the wheel in dist/, check them, install them in a fresh venv (docs/releasing.md)
	@.venv-release/bin/python tools/release.py

release-check: $(STAMP) .venv-release/.installed ## the same with the torch that is installed here, in build/dist
	@mkdir -p build/dist
	@.venv-release/bin/python tools/release.py --out build/dist --torch-of $(abspath $(RUN))

.venv-release/.installed:
	@echo "Installing into .venv-release (build, twine)"
	@$(BASE_PYTHON) -m venv --clear .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check build==1.6.1 twine==7.0.0
	@touch $@

clean: ## remove the venvs and caches
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
