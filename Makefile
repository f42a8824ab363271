# Each target sets up what it needs on a machine that has Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := connector-template/copier.yml $(shell find platform connectors -name '*.py' -o -name 'pyproject.toml' -path '*connectors*') pyproject.toml
DISTRIBUTIONS := . $(wildcard connectors/*)

.PHONY: help venv demo test lint docs bench lock clean

help:
	@echo "make venv    make .venv with the platform, every connector and the tools, from requirements.lock"
	@echo "make demo    import a small folder in two languages and ask questions about it"
	@echo "make test    run all tests against the installed wheels"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make docs    write the generated reference pages and check every page"
	@echo "make bench   measure, and write docs/benchmarks.md"
	@echo "make lock    resolve requirements.lock anew"

venv: $(VENV)/.installed

$(VENV)/.dependencies: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sapwood needs Python 3.11 or newer; name one with PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

# Wheels, not an editable install: what is tested is what people get.
$(VENV)/.installed: $(VENV)/.dependencies $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall $(addprefix ./,$(DISTRIBUTIONS))
	touch $@

demo: venv
	$(BIN)/python demo/run.py

test: venv
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: venv
	$(BIN)/ruff check platform connectors tests demo
	$(BIN)/ruff format --check platform connectors tests demo
	$(BIN)/mypy platform/sapwood connectors/folder/src/sapwood_folder connectors/documents/src/sapwood_documents
	$(BIN)/lint-imports

docs: venv
	$(BIN)/python docs/generate.py

bench: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/bench/requirements.txt
	$(BIN)/python -m tests.bench

lock:
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-package sapwood \
	  --custom-compile-command "make lock" --no-emit-index-url --no-annotate --extra dev -o requirements.lock \
	  pyproject.toml $(wildcard connectors/*/pyproject.toml)

clean:
	rm -rf $(VENV) demo-workspace bench-results
