# Every step of the project. `make` alone lists the targets; CI runs .ci/run, which calls them.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
CLI   := $(VENV)/.cli-installed
RELEASE := .release/.installed
BFCL  := .bfcl/.installed
UV    ?= $(BIN)/uv
# Two processes more than cores, since some tests wait for others that they have started; a process that is done
# takes tests from the others. PYTEST=.venv/bin/pytest runs the tests in one.
PYTEST ?= $(BIN)/pytest -q --dist worksteal -n $$((2 + $$(getconf _NPROCESSORS_ONLN)))

# The first interpreter that is new enough and can make a virtual environment.
FITS   := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach python,python3.11 python3 python3.12 python3.13,\
	$(shell $(python) -c '$(FITS)' 2>/dev/null && echo $(python))))

# How long each target is fuzzed.
SECONDS ?= 60

# Quiet about newer releases: requirements.lock decides which one is used.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where a container sets it, each of the thousand processes that the tests start would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint format lock release check-dependencies nightly fuzz bench bench-parts conformance \
	bfcl site check-install clean check-style check-mypy check-pyright check-imports check-collection

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

define NEW_VENV
@test -n "$(PYTHON)" || { echo "make: needs Python 3.11 or newer with the venv module" \
	"(Debian: apt-get install python3-venv), or say which: make PYTHON=..." >&2; exit 1; }
$(PYTHON) -m venv $(VENV)
endef

setup: $(STAMP) ## create .venv with the locked tools and this project in it

# pip takes four times as long as uv for the hundred packages of the lock, so it installs uv alone, at the version
# and with the hashes that the lock names. uv does not read pip's settings: where an index is named only there, it
# finds nothing, and pip does all.
$(STAMP): requirements.lock pyproject.toml
	$(NEW_VENV)
	@mkdir -p build
	@awk '/^uv==/ { wanted = 1 } wanted { print } wanted && !/\\$$/ { exit }' requirements.lock > build/uv.txt
	$(BIN)/pip install -qq --no-compile --require-hashes -r build/uv.txt
	$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements.lock || \
		$(BIN)/pip install -qq --no-compile --require-hashes -r requirements.lock
	$(BIN)/pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

# Only what `toolreel[cli]` needs, from the sources: neither the tools of `make setup` nor a build. Without
# bytecode of all modules, since the demo imports a third of them. The subset has a lock of its own, because pip
# takes no hashes from a constraints file. Where `make setup` has been run, its
# environment has all of this and is used as it is.
demo: $(if $(wildcard $(STAMP)),,$(CLI)) ## replay a recorded session and prove that nothing differs
	PYTHONPATH=domain:adapters $(BIN)/python -m toolreel demo

$(CLI): requirements-cli.lock
	$(NEW_VENV)
	$(BIN)/pip install -qq --no-compile --require-hashes -r requirements-cli.lock
	@touch $@

# Run under a second hash seed: what could depend on the order of a set or of a pyrsistent map. The core makes
# every digest, request and record, and its tests, properties and fuzz findings compare them with literals; the
# recorded sessions and the recorded evaluation hold whole runs byte for byte. Tests of
# adapters and commands are about I/O around the same values, which a seed does not reach; and processes that are
# killed or restarted do the same under any seed; so do the servers of a hidden tool, and what is counted in CPU.
ORDERED := tests/properties tests/replay tests/fuzz \
	$(addprefix tests/,evals/test_recorded_evaluation.py) \
	$(addprefix --ignore=tests/replay/,test_killed_runs.py test_new_process.py) \
	$(addprefix --ignore=tests/properties/,test_hidden_tool.py test_text_growth.py)

# Checks that use one core each: two run at a time, the longest first. Each shows its output at once, where make can
# do that.
TOGETHER := $(MAKE) --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync) -j 2
LINTERS  := check-pyright check-mypy check-style check-imports

CORE := tests/domain tests/kit

# The core's tests are run once, under the second seed, and have to cover domain/ fully, branches too; doctests do not
# count. `make nightly` runs them under the first seed.
test: setup ## everything that must hold before a change lands
	$(TOGETHER) $(LINTERS) check-collection
	PYTHONHASHSEED=0 $(PYTEST) -m "not slow" $(addprefix --ignore=,$(CORE))
	$(BIN)/coverage erase
	PYTHONHASHSEED=1 $(BIN)/coverage run $(PYTEST) -m "not slow" $(CORE)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report
	PYTHONHASHSEED=1 TOOLREEL_HYPOTHESIS=quick $(PYTEST) -m "not slow" $(ORDERED)

lint: setup ## check style, types and the direction of imports
	$(TOGETHER) $(LINTERS)

check-style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-mypy:
	$(BIN)/mypy

# What users import and read, and the tests about types. mypy --strict checks everything else too; so does pyright in
# `make nightly`, which takes it two minutes.
check-pyright:
	$(BIN)/pyright domain adapters examples docs tests/adapters/agent/typing_of_agents.py \
		tests/adapters/tools/test_typed_output.py

check-imports:
	$(BIN)/lint-imports --no-logo

# This compiles what the tests import, and rewrites their assertions, once for all processes that run tests: in a
# new checkout each of them would do it for itself, all at the same time.
check-collection:
	@mkdir -p build
	@echo $(BIN)/pytest --collect-only
	@$(BIN)/pytest -qq --collect-only -m "not slow" > build/collection.log || { cat build/collection.log; exit 1; }

format: setup ## put the code into the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# It does not depend on setup, which would first install the lock that is out of date.
lock: ## pin all dependencies (UPGRADE=--upgrade takes the newest)
	@test -x "$(UV)" || { echo "make lock: uv is not there; run 'make setup' or say UV=..." >&2; exit 1; }
	$(UV) pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --custom-compile-command "make lock" \
		--quiet $(UPGRADE) --output-file requirements.lock
	$(UV) pip compile pyproject.toml --extra cli --universal --python-version 3.11 \
		--constraint requirements.lock --generate-hashes --custom-compile-command "make lock" \
		--quiet --upgrade --output-file requirements-cli.lock
	$(UV) pip compile --group release --universal --python-version 3.11 \
		--constraint requirements.lock --generate-hashes --custom-compile-command "make lock" \
		--quiet $(UPGRADE) --output-file requirements-release.lock

# Builds the commit that is checked out, into dist/. On every Python that is here: CONTRIBUTING.md says how to get more.
release: setup $(RELEASE) ## build wheel and sdist twice, check them, test them on every Python (TESTS=... for some)
	$(BIN)/python tests/check_release.py $(if $(TESTS),--tests $(TESTS))

$(RELEASE): requirements-release.lock | $(STAMP)
	$(PYTHON) -m venv .release
	$(UV) pip install -q --python .release/bin/python --require-hashes -r $<
	@touch $@

# The advisory service is not a package registry: REQUIRE=--require-advisories where it has to be reached.
check-dependencies: setup $(RELEASE) ## list the licences of dependencies, and look for known vulnerabilities
	$(BIN)/python tests/check_dependencies.py $(REQUIRE)

# What `make test` leaves out, within an hour and a half on two cores: the slow tests and, with new random examples
# each time, those of hypothesis.
nightly: setup ## the long tests: random histories, what is slow, the cost of a turn, all of bfcl, and fuzzing
	TOOLREEL_HYPOTHESIS=nightly $(PYTEST) -m "slow or hypothesis"
	PYTHONHASHSEED=0 TOOLREEL_HYPOTHESIS=quick $(PYTEST) -m "not slow" $(CORE)
	$(BIN)/pyright
	$(BIN)/python -m benchmarks.core_calls --callgrind
	$(BIN)/python -m benchmarks.endpoints --check
	$(BIN)/python -m benchmarks.wire_forms --check
	$(MAKE) bfcl ONLY="--shape all --strategy all --way all"
	$(MAKE) fuzz
	$(MAKE) check-dependencies

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

# Strictly: it fails where a link or an anchor leads nowhere.
site: setup ## render the documentation into build/site/html
	$(BIN)/python -m docs.build_site

check-install: setup ## build the wheel, and run the pages and the examples with it
	$(BIN)/python -m tests.check_install

clean: ## remove all that make has made
	rm -rf $(VENV) .release .bfcl .conformance .fuzz build dist htmlcov .coverage .coverage.* .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
