# `make` prints what there is. Everything is installed into .venv and run from there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
JARS := include/sluice/jars
PYTEST := $(BIN)/pytest --no-skips
# Two files at a time, the longest first: a test that waits for a process leaves its processor to another.
SEVERAL_AT_ONCE := --numprocesses 2 --dist loadfile --no-loadscope-reorder
# What measures time, or takes all processors, runs without a neighbour.
ALONE := tests/verify/test_compose.py tests/verify/test_machines.py
# Where `make bench NAME="matrix table"` finds what the tests of the fault matrix have shown.
FAULT_REPORTS := .sluice/matrix/reports.jsonl
ALL_TESTS := tests/e2e tests/integration/spark/backfill tests/integration/spark tests/integration tests/unit

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Start here

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Install everything into .venv, once (Python 3.11-3.13 and a JDK 17 are needed)
	@echo "Ready: $(BIN)/sluice"

$(INSTALLED): requirements/uv.txt requirements/lock.txt pyproject.toml $(JARS)/ivy.xml $(JARS)/jars.sha256 $(wildcard $(JARS)/java/sluice/*/*.java)
	@PYTHONPATH=include PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m sluice.devstack.preflight
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked Python packages (about a minute the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/lock.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 include dags plugins spark_jobs
	@echo "Fetching the JVM artefacts (about a minute the first time) ..."
	@$(BIN)/python -m sluice.devstack.jars
	@touch $@

$(READY): $(INSTALLED)
	@echo "Archiving the classes that every driver loads (a minute, once) ..."
	@$(BIN)/python -m sluice.spark.session.class_archive
	@touch $@

.PHONY: demo
demo: $(READY) ## Run the main job on real flights, or an example (SCENARIO=trending); ARGS=--exit ends the stack
	@$(BIN)/sluice demo $(SCENARIO) $(ARGS)

##@ The stack

.PHONY: up
up: $(READY) ## Start Kafka and Airflow on this machine
	@$(BIN)/sluice up

.PHONY: down
down: ## Stop the streams, Airflow and Kafka; no process remains, the data does
	@if [ -x $(BIN)/sluice ]; then $(BIN)/sluice down; fi

.PHONY: status
status: $(READY) ## Show the components and every stream's verdict
	@$(BIN)/sluice status

##@ Tests

.PHONY: test
test: ## Run all tests that need no more than this machine, checks first
	@$(MAKE) --no-print-directory --jobs=2 $(READY) lint types
	$(PYTEST) $(SEVERAL_AT_ONCE) -m "not verify" $(ALL_TESTS)

.PHONY: unit
unit: $(READY) ## Run the unit tests: no JVM, seconds
	$(PYTEST) -m "not verify" tests/unit

.PHONY: integration
integration: $(READY) ## Run the tests with real Kafka, Spark, Airflow and processes
	$(PYTEST) -m "not verify" tests/integration

.PHONY: e2e
e2e: $(READY) ## Run the demo in a private stack on free ports
	$(PYTEST) -m "not verify" tests/e2e

.PHONY: verify
verify: $(READY) ## Run what needs more (PostgreSQL, Docker Compose, many examples); what a test lacks, it says
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/postgres.txt
	@began=$$(date +%s); code=0; \
	$(PYTEST) $(SEVERAL_AT_ONCE) --hypothesis-profile=thorough -m "hypothesis and not verify" tests/unit || code=$$?; \
	mkdir -p $(dir $(FAULT_REPORTS)); rm -f $(FAULT_REPORTS); \
	$(PYTEST) $(SEVERAL_AT_ONCE) --hypothesis-profile=fresh -m proves --fault-reports=$(FAULT_REPORTS) tests/verify $(ALL_TESTS) || code=$$?; \
	$(PYTEST) $(SEVERAL_AT_ONCE) --hypothesis-profile=fresh -m "verify and not proves" $(ALONE:%=--ignore=%) tests/verify $(ALL_TESTS) || code=$$?; \
	$(PYTEST) --hypothesis-profile=fresh -m verify $(ALONE) || code=$$?; \
	PYTHONPATH=. $(BIN)/python -m benchmarks matrix table || code=$$?; \
	took=$$(( $$(date +%s) - began )); [ $$code -eq 0 ] && said=passed || said=failed; \
	echo "make verify $$said after $$(( took / 60 )) min $$(( took % 60 )) s"; exit $$code

.PHONY: bench
bench: $(READY) ## Run a benchmark: NAME=<name>; without a name, list them
	@PYTHONPATH=. $(BIN)/python -m benchmarks $(NAME)

##@ Code

.PHONY: check
check: $(READY) ## Check the specs, without starting anything
	@$(BIN)/sluice check

.PHONY: lint
lint: $(INSTALLED) ## Check style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: types
types: $(INSTALLED) ## Check types
	$(BIN)/mypy

.PHONY: format
format: $(INSTALLED) ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: $(READY) ## Check that links, commands and targets named in the documentation exist
	$(PYTEST) tests/unit/test_documentation.py

.PHONY: references
references: $(READY) ## Write the pages and schemas that are made from the code
	PYTHONPATH=docs $(BIN)/python -m generate docs/reference
	$(BIN)/python -m sluice.specs.schema docs/schemas

.PHONY: screenshots
screenshots: $(READY) ## Take the pictures of the console (Chromium is needed); DIR=<folder> ARGS=--all: of every page
	@PYTHONPATH=. $(BIN)/python -m tests.verify.screenshots $(or $(DIR),docs/images) $(ARGS)

.PHONY: pictures
pictures: $(READY) ## Run examples and take the pictures of their pages (Chromium is needed); NAMES=<examples>: only these
	@PYTHONPATH=. $(BIN)/python -m tests.scenarios.page_pictures $(NAMES)

.PHONY: lock
lock: $(READY) ## Resolve pyproject.toml and requirements/*.in into new hashed locks
	$(BIN)/uv pip compile $(COMPILE) requirements/uv.in --output-file requirements/uv.txt
	$(BIN)/uv pip compile $(COMPILE) pyproject.toml requirements/dev.in --output-file requirements/lock.txt
	$(BIN)/uv pip compile $(COMPILE) requirements/postgres.in --output-file requirements/postgres.txt
	$(BIN)/uv pip compile $(COMPILE) requirements/mutants.in --output-file requirements/mutants.txt
	$(BIN)/uv pip compile $(COMPILE) benchmarks/peers/locks/flink.in --output-file benchmarks/peers/locks/flink.txt

COMPILE := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

.PHONY: wheel
wheel: $(READY) ## Build the wheel, on which projects of others run, into dist/
	@$(BIN)/python -m hatchling build --target wheel

.PHONY: sbom
sbom: $(READY) ## Write the bill of materials (CycloneDX) of packages and jars into dist/sbom.json
	@$(BIN)/python requirements/sbom.py dist/sbom.json

.PHONY: clean
clean: down ## Remove .venv and caches; the state in .sluice stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
