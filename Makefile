# The whole project from a bare machine: it needs make and Python 3.11 or newer. `make` alone lists the targets.

# The first Python that is new enough; override with `make PYTHON=...`.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell for python in python3.11 python3.12 python3.13 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$python; break; fi; done)
endif

VENV ?= .venv
LOWEST_PYTHON ?= python3.11
PIP_ARGS ?=
PYTEST_ARGS ?=
RUNS ?= runs
DEMO_RUN ?= $(RUNS)/demo
DEMO_TRAIN ?= train.dqn --preset demo --run-dir $(DEMO_RUN)
DEMO_EVALUATE ?= train.evaluate $(DEMO_RUN)

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-lowest test-slow test-integrations lint docs bench wheel tensorboard constraints clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Install everything into .venv, in the tested versions

$(STAMP): pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed; name one with make PYTHON=..." >&2; exit 1; fi
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install $(PIP_ARGS) -c constraints.txt -e ".[train,render,report,pettingzoo,play,dev]"
	@touch $@

demo: $(STAMP) ## Train an agent for about two minutes, then measure it against the optimum
	$(BIN)/python -m $(DEMO_TRAIN)
	$(BIN)/python -m $(DEMO_EVALUATE)
	@echo
	@echo "The curves of this run: make tensorboard, then open the address that it prints."

test: $(STAMP) ## Run the tests, without the slow ones
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-lowest: .venv-lowest/.installed ## Run the tests on the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -m "not slow" $(PYTEST_ARGS)

# The lowest versions are of the time of Python 3.11, and some have no builds for a newer one.
.venv-lowest/.installed: pyproject.toml constraints-lowest.txt
	@.venv-lowest/bin/python -m pip --version >/dev/null 2>&1 || $(LOWEST_PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install $(PIP_ARGS) -c constraints-lowest.txt -e ".[train,render,report,pettingzoo,play,dev]"
	@touch $@

test-slow: $(STAMP) ## Run the slow tests
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

# Libraries whose pins conflict with the tested set get environments of their own, .venv-ray and .venv-integrations.
test-integrations: $(STAMP) ## Run the tests of every integration, each with its library
	$(BIN)/python -m pytest -m "not slow" tests/test_sb3.py tests/test_pettingzoo.py tests/test_using_it_from.py
	sh scripts/test_integrations.sh "$(PYTHON)" $(PIP_ARGS)

lint: $(STAMP) ## Check style and types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

docs: $(STAMP) ## Write the generated pages of docs/ anew
	$(BIN)/python scripts/write_docs.py

bench: $(STAMP) ## Measure speed, beside other programs; renews docs/performance.md
	$(BIN)/python -m tests.benchmarks --write

wheel: $(STAMP) ## Build the distributions into dist/, and check the wheel in a fresh environment
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python scripts/check_wheel.py dist --constraints constraints.txt

tensorboard: $(STAMP) ## Show the curves of all runs
	$(BIN)/python -m tensorboard.main --logdir $(RUNS)

constraints: ## Rewrite constraints.txt with the newest versions that pyproject.toml allows
	sh scripts/refresh_constraints.sh "$(PYTHON)" $(PIP_ARGS)

clean: ## Remove what was built, but neither .venv nor the runs
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +
