# Thin: each target is one command after its set-up.
BIN := .venv/bin
SOURCES := pyproject.toml setup.py tools/setup.sh $(wildcard src/tcuq/binding/* src/tcuq/core/*)

.PHONY: help demo test bench vectors tables clean

help:
	@echo "make demo     set up, then train, stream, fit, watch and report on real digits (out/demo)"
	@echo "make test     set up, then lint, type-check and run all tests"
	@echo "make bench    set up, then time the monitor beside its peers"
	@echo "make vectors  rewrite the test vectors from the oracle"
	@echo "make tables   rewrite the core's constant tables"

demo: .venv/.demo
	$(BIN)/tcuq demo --out out/demo

test: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: .venv/.bench
	$(BIN)/python bench/bench.py

vectors: .venv/.test
	$(BIN)/python vectors/gen.py

tables: .venv/.test
	$(BIN)/python tools/make_tables.py

.venv/.demo: $(SOURCES)
	sh tools/setup.sh run demo
	@touch $@

.venv/.test: $(SOURCES)
	sh tools/setup.sh test dev
	@touch $@

.venv/.bench: $(SOURCES)
	sh tools/setup.sh run bench,demo
	@touch $@

clean:
	rm -rf .venv build out src/tcuq.egg-info src/tcuq/*.so
