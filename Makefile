# Each target sets up what it needs, then runs one command.
BIN := .venv/bin
SOURCES := pyproject.toml setup.py tools/archives.py tools/setup.sh tools/constraints.txt $(wildcard */pyproject.toml */setup.py src/tcuq/binding/* src/tcuq/core/* watch/src/tcuq_watch/native/*)
PRODUCTS := tests src device watch

.PHONY: help demo test test-product test-slow test-spark fleet-demo check coverage fuzz fuzz-long hostile faults static prove mutants supply wheels registry bench device results pictures vectors tables sheets compare docs docs-links docs-check clean

help:
	@echo "make demo          set up, then train, fit, watch a day of a camera and write a report (out/demo)"
	@echo "make test          set up, then lint, type-check, check imports and run all tests but the slow ones"
	@echo "make test-product  the same for tcuq, tcuq-device and tcuq-watch, without the lab"
	@echo "make test-slow     the tests that take longer"
	@echo "make test-spark    the tests of a fleet on Spark; installs Java and pyspark (10 minutes)"
	@echo "make fleet-demo    some hundred simulated devices over MQTT, watched as a fleet (out/fleet-demo)"
	@echo "make coverage      lines and branches that the tests run, in C and Python, against their floors"
	@echo "make fuzz          feed damaged and random input to the core and to every reader of files (10 minutes)"
	@echo "make fuzz-long     the same for a night (8 hours)"
	@echo "make hostile       a billion steps of adversaries that know the coming threshold; every bound is checked"
	@echo "make faults        every file operation of all that writes fails, is killed or loses power"
	@echo "make static        analyzers and the rules of MISRA C on the core, bounds of stack and instructions"
	@echo "make prove         prove that the core never overflows and never leaves its memory"
	@echo "make mutants       change the core at every place and see whether the tests notice"
	@echo "make supply        build the archives twice, compare, and list what is in them"
	@echo "make registry      write the packages for Arduino, PlatformIO, ESP-IDF and Zephyr registries, and check them"
	@echo "make wheels        build the archives of a release, install them without a compiler and a network, try them"
	@echo "make bench         time the monitor beside its peers, and a bank of monitors"
	@echo "make device        measure monitors and networks on emulated boards, compare with the stored figures"
	@echo "make results       pack new files of lab/results, rewrite docs/RESULTS.md and docs/results"
	@echo "make pictures      draw the pictures of the documentation again (docs/pictures)"
	@echo "make vectors       rewrite the test vectors from the references"
	@echo "make tables        rewrite the core's constant tables"
	@echo "make sheets        draw every corruption again (docs/corruptions); mnist and speech need TCUQ_DATA"
	@echo "make compare       compare our corruptions with the package imagecorruptions"
	@echo "make docs          build the documentation site (out/site); warnings are errors, no network needed"
	@echo "make docs-check    open every page of the site in Chromium: layout, links, keys, contrast (axe-core from npm)"
	@echo "make docs-links    follow the links of the site that leave it; needs the network"
	@echo "make clean         remove environments, builds and out/"

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

coverage: .venv/.test
	$(BIN)/python tools/coverage_c.py
	$(BIN)/python tools/coverage_binding.py
	$(PYTEST) -m "not slow and not spark" $(PRODUCTS) --cov=tcuq --cov=tcuq_device --cov=tcuq_watch --cov-branch --cov-report=
	$(BIN)/python tools/covered.py

# Seeds are printed; what is found is kept in out/fuzz.
fuzz: .venv/.test
	$(BIN)/python fuzz/run.py --minutes 10

fuzz-long: .venv/.test
	$(BIN)/python fuzz/run.py --minutes 480
	$(BIN)/python fuzz/against_reference.py --programs 20000
	HYPOTHESIS_PROFILE=long $(PYTEST) -m hypothesis

hostile: .venv/.test
	$(BIN)/python tools/hostile/run.py --steps 1000000000

faults: .venv/.test
	TCUQ_FAULTS=all $(BIN)/python -m pytest -q tests/faults -m "slow or not slow"

static: .venv/.trust
	$(BIN)/python tools/static_checks.py
	$(BIN)/python tools/bounds.py

prove: .venv/.trust
	$(BIN)/python proofs/run.py

mutants: .venv/.test
	$(BIN)/python tools/mutants/run.py
	$(BIN)/python tools/mutants/run.py --sample 1500 --selfcheck

supply: .venv/.test
	$(BIN)/python tools/supply.py

registry: .venv/.test
	rm -rf out/registry
	$(BIN)/python tools/registry.py out/registry
	$(BIN)/python tools/registry_check.py out/registry

wheels: .venv/.test
	$(BIN)/python tools/release_check.py

test-product: .venv/.product
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy -p tcuq -p tcuq_device -p tcuq_watch
	$(PYTEST) -m "not slow and not spark" $(PRODUCTS)

test-slow: .venv/.test
	$(PYTEST) -m slow

# One process: Spark takes both cores.
test-spark: .venv/.spark
	$(BIN)/python -m pytest -m spark watch/tests/fleet --durations=0

fleet-demo: .venv/.fleet
	$(BIN)/python tools/fleet_demo.py out/fleet-demo

bench: .venv/.bench
	$(BIN)/python bench/bench.py
	$(BIN)/python bench/bank.py

# Compares and writes nothing: --write of each command stores new figures, after showing what changes.
device: .venv/.device $(if $(TCUQ_DATA),.venv/.networks)
	$(BIN)/tcuq-lab boards bench --check
	@if [ -n "$$TCUQ_DATA" ]; then \
		$(BIN)/tcuq-lab boards replay && $(BIN)/tcuq-lab boards table && $(BIN)/tcuq-lab boards page --check; \
	else \
		echo "networks on boards need datasets: set TCUQ_DATA (tcuq-lab data list), then make device again"; \
	fi

results: .venv/.test
	$(BIN)/tcuq-lab results --pack --write
	$(BIN)/python tools/pictures/make.py

pictures: .venv/.test
	$(BIN)/python tools/pictures/make.py

vectors: .venv/.test
	$(BIN)/python vectors/gen.py
	$(BIN)/python tools/make_kernel_vectors.py

tables: .venv/.test
	$(BIN)/python tools/make_tables.py

PHOTOS = $$($(BIN)/python -c "from sklearn.datasets import images; print(images.__path__[0])")
sheets: .venv/.test
	$(BIN)/tcuq-lab corrupt sheet mnist --examples 8 --out docs/corruptions/mnist_c.png
	$(BIN)/tcuq-lab corrupt sheet cifar10 --picture $(PHOTOS)/flower.jpg --scale 3 --out docs/corruptions/cifar10_c.png
	$(BIN)/tcuq-lab corrupt sheet tinyimagenet20 --picture $(PHOTOS)/china.jpg --out docs/corruptions/tinyimagenet_c.png
	$(BIN)/tcuq-lab corrupt sheet speech_commands --out docs/corruptions/speech_c.png

compare: .venv/.compare
	.venv-compare/bin/python lab/tools/compare_corruptions.py

SPHINX := $(BIN)/python -m sphinx -j 2 -q -W --keep-going
docs: .venv/.docs
	$(SPHINX) -b html -d out/site-doctrees docs out/site
	@echo "docs: open out/site/index.html"

docs-check: docs
	$(BIN)/python tools/site_check/run.py --get-axe out/site

docs-links: .venv/.docs
	$(SPHINX) -b linkcheck -d out/site-doctrees docs out/site-links

# An environment of its own: the package needs an old setuptools.
.venv/.compare: $(SOURCES)
	python3 -m venv .venv-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check -e . -e ./device -e "./lab[compare]" scikit-image pooch pytest
	@mkdir -p .venv && touch $@

.venv/.demo: $(SOURCES)
	sh tools/setup.sh product demo
	@touch $@

.venv/.test: $(SOURCES)
	sh tools/setup.sh test dev
	@touch $@

# As for all tests, without the lab and PyTorch.
.venv/.product: $(SOURCES)
	sh tools/setup.sh products dev
	@touch $@

# Analyzers and provers, which no test needs.
.venv/.trust: .venv/.test
	sh tools/setup.sh trust dev
	@touch $@

.venv/.spark: $(SOURCES)
	sh tools/setup.sh spark dev
	@touch $@

.venv/.fleet: $(SOURCES)
	sh tools/setup.sh fleet demo
	@touch $@

.venv/.device: $(SOURCES)
	sh tools/setup.sh device
	@touch $@

# Networks on boards: PyTorch to read weights, and what corrupts pictures and sound.
.venv/.networks: $(SOURCES)
	sh tools/setup.sh lab
	@touch $@

.venv/.docs: $(SOURCES)
	sh tools/setup.sh docs docs
	@touch $@

.venv/.bench: $(SOURCES)
	sh tools/setup.sh product bench,demo
	@touch $@

clean:
	rm -rf .venv .venv-compare build */build out src/*.egg-info */src/*.egg-info src/tcuq/*.so watch/src/tcuq_watch/*.so .coverage .coverage.*
