# Every target sets up what it needs in .venv on a machine that has only Python >= 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.ready
DEMO := .ragguard/demo

# Compiled modules are kept: LiteLLM takes many seconds to import without them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast test-real image-test lint lint-workflows types bench lock clean

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

# The lock files hold hashes and no address of any index.
lock: $(SETUP)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra all --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra all --group test --group lint --group real --group build --constraint requirements.lock \
		--output-file requirements-dev.lock pyproject.toml
	$(BIN)/python scripts/lock_one.py uv requirements-dev.lock requirements-uv.lock

clean:
	rm -rf $(VENV) .ragguard .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
