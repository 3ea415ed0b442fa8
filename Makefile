# Each target sets up what it needs, then runs one command or a few. Rare commands are in CONTRIBUTING.md.
BIN := .venv/bin
SOURCES := pyproject.toml setup.py tools/archives.py tools/setup.sh tools/constraints.txt $(wildcard */pyproject.toml */setup.py src/tcuq/binding/* src/tcuq/core/* watch/src/tcuq_watch/native/*)
PRODUCTS := tests src device watch

.PHONY: help demo check test test-product test-slow coverage fuzz prove static mutants made bench docs docs-check release

help:
	@echo "make demo          set up, then train, fit, watch a day of a camera and write a report (out/demo)"
	@echo "make check         lint, format, types and imports"
	@echo "make test          set up, then check and run all tests but the slow ones"
	@echo "make test-product  the same for tcuq, tcuq-device and tcuq-watch, without the lab"
	@echo "make test-slow     the tests that take longer"
	@echo "make coverage      lines and branches that the tests run, in C and Python, against their floors"
	@echo "make fuzz          damaged input, adversaries and failing disks, MINUTES=10 of the first (an hour in all)"
	@echo "make prove         prove that the core never overflows and never leaves its memory"
	@echo "make static        analyzers and the rules of MISRA C on the core, bounds of stack and instructions"
	@echo "make mutants       change the core at every place and see whether the tests notice"
	@echo "make made          write again what is made: names of parameters, constant tables, vectors"
	@echo "make bench         time the monitor beside its peers; figures of emulated boards against the stored ones"
	@echo "make docs          build the site (out/site); warnings are errors, no network needed"
	@echo "make docs-check    open every page of the site in Chromium: layout, links, focus, axe's rules"
	@echo "make release       build and try the archives of a release, write and check the packages of registries"

demo: .venv/.demo
	$(BIN)/tcuq demo --out out/demo

check: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two processes of one thread each. A file stays in one of them, so that its fixtures are made once; files in their
# own order end with the doctests, which are short and even out.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
test: check
	$(PYTEST) -m "not slow and not spark"

test-product: .venv/.product
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy -p tcuq -p tcuq_device -p tcuq_watch
	$(PYTEST) -m "not slow and not spark" $(PRODUCTS)

test-slow: .venv/.test
	$(PYTEST) -m slow

coverage: .venv/.test
	$(BIN)/python tools/coverage_c.py
	$(BIN)/python tools/coverage_binding.py
	$(PYTEST) -m "not slow and not spark" $(PRODUCTS) --cov=tcuq --cov=tcuq_device --cov=tcuq_watch --cov-branch --cov-report=
	$(BIN)/coverage report --skip-covered --sort=miss

# Seeds are printed; what is found is kept in out/fuzz.
MINUTES ?= 10
fuzz: .venv/.test
	$(BIN)/python fuzz/run.py --minutes $(MINUTES)
	$(BIN)/python tools/hostile/run.py --steps 1000000000
	TCUQ_FAULTS=all $(BIN)/python -m pytest -q tests/faults -m "slow or not slow"

static: .venv/.trust
	$(BIN)/python tools/static_checks.py
	$(BIN)/python tools/bounds.py

prove: .venv/.trust
	$(BIN)/python proofs/run.py

mutants: .venv/.test
	$(BIN)/python tools/mutants/run.py

made: .venv/.test
	$(BIN)/python tools/schema.py
	$(BIN)/python tools/make_tables.py
	$(BIN)/python vectors/gen.py
	$(BIN)/python tools/make_kernel_vectors.py

# Compares boards and writes nothing: --write of each command stores new figures, after showing what changes.
bench: .venv/.bench .venv/.device
	$(BIN)/python bench/bench.py
	$(BIN)/python bench/bank.py
	$(BIN)/tcuq-lab boards bench --check
	@if [ -n "$$TCUQ_DATA" ]; then \
		$(BIN)/tcuq-lab boards replay && $(BIN)/tcuq-lab boards table && $(BIN)/tcuq-lab boards page --check; \
	else \
		echo "networks on boards need datasets: set TCUQ_DATA (tcuq-lab data list), then make bench again"; \
	fi

docs: .venv/.docs
	$(BIN)/python -m sphinx -j 2 -q -W --keep-going -b html -d out/site-doctrees docs out/site
	@echo "docs: open out/site/index.html"

docs-check: docs
	$(BIN)/python tools/pages.py out/site

release: .venv/.test
	$(BIN)/python tools/release.py
	rm -rf out/registry
	$(BIN)/python tools/registry.py out/registry

.venv/.%: $(SOURCES)
	sh tools/setup.sh $*
	@touch $@
