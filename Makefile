# Every step of the project. `make` alone lists the targets; CI runs .ci/run, which calls them.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
BFCL  := .bfcl/.installed
UV    ?= $(BIN)/uv
# Two processes for each core, since many tests wait for others that they have started;
# PYTEST=.venv/bin/pytest runs the tests in one.
PYTEST ?= $(BIN)/pytest -q -n $$((2 * $$(getconf _NPROCESSORS_ONLN)))

# The first interpreter that is new enough and can make a virtual environment.
FITS   := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach python,python3.11 python3 python3.12 python3.13,\
	$(shell $(python) -c '$(FITS)' 2>/dev/null && echo $(python))))

# How long each target is fuzzed.
SECONDS ?= 180

# Quiet about newer releases: requirements.lock decides which one is used.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint format lock nightly fuzz bench bench-parts conformance bfcl check-install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## create .venv with the locked tools and this project in it

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make setup: needs Python 3.11 or newer with the venv module" \
		"(Debian: apt-get install python3-venv), or say which: make setup PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --require-hashes -r requirements.lock
	$(BIN)/pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## replay a recorded session and prove that nothing differs
	$(BIN)/toolreel demo

# Left out under the second seed, to keep CI under 20 minutes: tests that start whole commands, or read the
# sources; what the commands are made of is tested under both.
WHOLE_COMMANDS := $(addprefix --ignore=tests/,architecture bfcl cli conformance peers plugin)

# tests/package_coverage.py holds domain/ at 100 %, branches too: each package by its own tests alone.
test: setup lint ## everything that must hold before a change lands
	PYTHONHASHSEED=0 $(PYTEST) -m "not slow"
	PYTHONHASHSEED=0 $(BIN)/python tests/package_coverage.py
	$(BIN)/python tests/exhaustive.py
	@set -e; for example in $(wildcard examples/*.py); do \
		echo "== $$example"; $(BIN)/python "$$example"; done
	$(BIN)/pytest -q examples/agent_in_ci
	PYTHONHASHSEED=1 TOOLREEL_HYPOTHESIS=quick $(PYTEST) -m "not slow" $(WHOLE_COMMANDS)

lint: setup ## check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

format: setup ## put the code into the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# It does not depend on setup, which would first install the lock that is out of date.
lock: ## pin all dependencies anew (UPGRADE=--upgrade takes the newest)
	@test -x "$(UV)" || { echo "make lock: uv is not there; run 'make setup' or say UV=..." >&2; exit 1; }
	$(UV) pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --custom-compile-command "make lock" \
		--quiet $(UPGRADE) --output-file requirements.lock

nightly: setup ## the long tests: random histories, what is slow, the cost of a turn, all of bfcl, and fuzzing
	TOOLREEL_HYPOTHESIS=nightly $(BIN)/pytest
	$(BIN)/python -m benchmarks.core_calls --callgrind
	$(BIN)/python -m benchmarks.endpoints --check
	$(MAKE) bfcl ONLY="--shape all --strategy all --way all"
	$(MAKE) fuzz

# What it finds is kept under tests/fuzz/found/, to be mended; make test replays it from then on.
fuzz: setup ## fuzz the normalisers (SECONDS=600 for each target, TARGETS="texts replies" for some)
	$(BIN)/python -m tests.fuzz $(TARGETS) --seconds $(SECONDS)

# The peers' packages come from their registry, as for `make conformance`.
bench: setup ## measure a tool loop against its peers (ONLY="--contestant toolreel" for one)
	$(BIN)/python -m benchmarks.peers.run $(ONLY)
	$(if $(ONLY),,$(MAKE) bench-parts)

bench-parts: setup ## measure parts of toolreel alone
	@set -e; for bench in $(patsubst benchmarks/%.py,%,$(wildcard benchmarks/*.py)); do \
		echo "== $$bench"; $(BIN)/python -m "benchmarks.$$bench"; done

# The peers' packages come from their registries into .conformance/, each into an environment of its own.
conformance: setup ## put toolreel and its peers through the conformance suite (ONLY="--peer llm" for one)
	$(BIN)/python -m benchmarks.conformance.run $(ONLY)

# The package comes from its registry into .bfcl/, without its dependencies, and is used by this alone.
bfcl: setup $(BFCL) ## play the Berkeley leaderboard's multi-turn cases (ONLY="--shape stream" for a shape)
	$(BIN)/python -m benchmarks.bfcl $(ONLY)

$(BFCL): benchmarks/bfcl/requirements.txt | $(STAMP)
	rm -rf .bfcl
	$(BIN)/pip install -qq --no-deps --require-hashes --target .bfcl -r $<
	@touch $@

check-install: setup ## build the wheel and try it in a fresh environment
	$(BIN)/python tests/check_install.py

clean: ## remove all that make has made
	rm -rf $(VENV) .bfcl .conformance .fuzz build dist htmlcov .coverage .coverage.* .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
