# "make" alone tells what there is. Needed: Python 3.11 or newer, make, a package registry. Everything lands in .venv.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
SUM := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)
# Named after the contents of pyproject.toml: an environment is installed again when that changes, and only then.
READY := $(VENV)/.ready-$(SUM)
READY_DEV := $(VENV)/.ready-dev-$(SUM)
ARGS ?=
# Tests run in two processes, each with a server of its own; on a server that was given, in one.
WORKERS ?= $(if $(PGSIFT_TEST_DSN),0,2)

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow stress lint format bench bench-ingest quality docs snapshot snapshot-check revision freeze build check clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 18

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "pgsift needs Python 3.11 or newer; none was found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(READY): | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[local,documents]'
	@touch $@

$(READY_DEV): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[local,static,evaluate,dev]'
	@touch $@

venv: $(READY_DEV)  ## the development environment in .venv

demo: $(READY)  ## ingest a sample corpus into an embedded server and search it in four ways
	$(BIN)/python demo/run.py $(ARGS)

test: $(READY_DEV)  ## all tests but the slow ones; ARGS="tests/sql -k search" selects
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile $(ARGS)

test-slow: $(READY_DEV)  ## the slow tests
	$(BIN)/python -m pytest -q -m slow $(ARGS)

stress: $(READY_DEV)  ## load and failure at length, with figures; STRESS_SECONDS=180
	$(BIN)/python -m pytest -q -s -m stress tests/stress $(ARGS)

lint: $(READY_DEV)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY_DEV)  ## what ruff can mend by itself
	$(BIN)/ruff check --fix .

bench: $(READY_DEV)  ## measure search and ingest; prints a table
	$(BIN)/python tests/bench/run.py $(ARGS)

bench-ingest: $(READY_DEV)  ## measure ingest by its parts: pages, chunks, vectors, memory
	$(BIN)/python tests/bench/ingest.py $(ARGS)

quality: $(READY_DEV)  ## measure what searches find, and write docs/quality.md: COLLECTIONS=folder
	@test -n "$(COLLECTIONS)" || { echo "which collections? make quality COLLECTIONS=folder" >&2; exit 1; }
	$(BIN)/python tools/quality.py "$(COLLECTIONS)" --results build/quality --cache build/quality $(ARGS)

docs: $(READY_DEV)  ## write the generated references under docs/
	$(BIN)/python tools/docs.py $(ARGS)

snapshot: $(READY)  ## copy what changed in sql/ into a migration's snapshot: REV=0002
	@test -n "$(REV)" || { echo "say which revision: make snapshot REV=0002" >&2; exit 2; }
	$(BIN)/python tools/snapshot.py $(REV)

snapshot-check: $(READY)  ## fail when sql/ and its snapshots differ
	$(BIN)/python tools/snapshot.py --check

revision: $(READY)  ## a new migration: REV=0002 NAME=add_something
	@test -n "$(REV)" && test -n "$(NAME)" || { echo "say: make revision REV=0002 NAME=add_something" >&2; exit 2; }
	$(BIN)/alembic revision --rev-id $(REV) -m $(NAME)

freeze: $(READY)  ## at a release: fix the hashes of all revisions in migrations/frozen.txt
	$(BIN)/python tools/snapshot.py --freeze

build: $(READY_DEV)  ## wheel and source distribution in dist/
	$(BIN)/python -m build --no-isolation

check: lint snapshot-check test  ## what a change must pass

clean:  ## remove the environment, the demonstration and what tools left behind
	@test ! -d .demo || $(BIN)/pgsift server stop --home .demo
	rm -rf .demo $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
