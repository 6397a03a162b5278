# Every target sets up what it needs in .venv on a machine that has only Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.ready
DEMO := .ragguard/demo

# Compiled modules are kept: LiteLLM takes many seconds to import without them.
unexport PYTHONDONTWRITEBYTECODE

AUDIT := .venv-audit

.PHONY: demo test test-fast test-real image-test lint lint-workflows types bench soak mutate audit sbom lock clean

WORKFLOWS := .github/workflows/*.yml templates/workflows/*.yml

$(SETUP): requirements-uv.lock requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("ragguard needs Python >= 3.11, not " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $(SETUP)

demo: $(SETUP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/quickstart/demo.sh

lint: $(SETUP) lint-workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-workflows: $(SETUP)
	$(BIN)/actionlint $(WORKFLOWS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/zizmor --offline --quiet --min-severity medium action.yml $(WORKFLOWS)
	$(BIN)/hadolint Dockerfile

types: $(SETUP)
	$(BIN)/mypy

test: lint types
	$(BIN)/pytest -n auto --cov --cov-report=term

test-fast: $(SETUP)
	$(BIN)/pytest -n auto

test-real: $(SETUP)
	$(BIN)/python scripts/fetch_parts.py
	$(BIN)/pytest -m real tests/real

# Builds the action's image without a Docker daemon and runs it as GitHub's runner does; needs root.
image-test:
	scripts/image_test.sh

# Each peer is installed by name into an environment of its own; give options in BENCH, such as BENCH="--samples 10".
bench: $(SETUP)
	@$(BIN)/python benchmarks/peers $(BENCH)

# Options in SOAK.
soak: $(SETUP)
	$(BIN)/python scripts/soak.py $(SOAK)

# Breaks the fail-closed logic on purpose, one place after another; words in MUTATE choose some, such as MUTATE=gate.py.
mutate: $(SETUP)
	$(BIN)/python scripts/mutate.py $(MUTATE)

$(AUDIT)/.ready: requirements-audit.lock
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-audit.lock
	@touch $@

# Known vulnerabilities of what is locked; asks a service, and fails where that does not know a package.
audit: $(AUDIT)/.ready
	$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off --requirement requirements.lock

# What is locked, as a CycloneDX bill of materials; offline, and the same for the same lock.
sbom: $(AUDIT)/.ready
	PYTHONWARNINGS=ignore $(AUDIT)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--validate --output-file sbom.cdx.json requirements.lock
	$(AUDIT)/bin/python scripts/sbom.py requirements.lock sbom.cdx.json

# The lock files hold hashes and no address of any index.
lock: $(SETUP)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra all --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra all --group test --group lint --group real --group build --constraint requirements.lock \
		--output-file requirements-dev.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group audit --output-file requirements-audit.lock
	$(BIN)/python scripts/lock_one.py uv requirements-dev.lock requirements-uv.lock
	$(BIN)/python scripts/dependencies.py

clean:
	rm -rf $(VENV) $(AUDIT) .ragguard .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
