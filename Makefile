# Every target builds .venv by itself. `make demo` and `make test` work on a fresh machine.
SHELL := /bin/bash
PYTHON ?= python3.11
BIN := .venv/bin
export OMP_WAIT_POLICY := passive
export GOMP_SPINCOUNT := 0
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: venv demo serve test lint types imports pytest bench compose-test openapi clean

venv: .venv/.made

.venv/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[verifier,trainer,dev]'
	$(BIN)/pip install -q --no-deps $$(grep ^satcfdi== constraints.txt)  # its data files only: see docs/decisions
	touch $@

test: lint types imports pytest

lint: venv
	$(BIN)/ruff check proto services trainer tests bench deploy
	$(BIN)/ruff format --check proto services trainer tests bench deploy

types: venv
	$(BIN)/mypy

imports: venv
	$(BIN)/lint-imports

pytest: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile
