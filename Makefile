# Thin: each target is one command after its set-up.
BIN := .venv/bin
SOURCES := pyproject.toml setup.py tools/setup.sh $(wildcard src/tcuq/binding/* src/tcuq/core/*)

.PHONY: help demo test bench device results vectors tables sheets compare clean

help:
	@echo "make demo     set up, then train, stream, fit, watch and report on real digits (out/demo)"
	@echo "make test     set up, then lint, type-check and run all tests"
	@echo "make bench    set up, then time the monitor beside its peers"
	@echo "make device   set up, then run firmware for boards under emulation and compare its cost with stored figures"
	@echo "make results  rewrite the pages of results (docs/RESULTS.md, docs/results.html) from results/"
	@echo "make vectors  rewrite the test vectors from the oracles"
	@echo "make tables   rewrite the core's constant tables"
	@echo "make sheets   draw every corruption again (docs/corruptions); needs TCUQ_DATA for mnist and speech"
	@echo "make compare  hold our corruptions against the package imagecorruptions"
	@echo "make clean    remove environments, builds and out/"

demo: .venv/.demo
	$(BIN)/tcuq demo --out out/demo

# Two processes of one thread. A file stays in one of them, so that its fixtures are made once; files in their
# own order end with the doctests, which are short and even out.
TWO := -n 2 --dist loadfile --no-loadscope-reorder
test: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(TWO)

bench: .venv/.bench
	$(BIN)/python bench/bench.py

# Compares and writes nothing: --write of each command stores new figures, after showing what changes.
device: .venv/.device $(if $(TCUQ_DATA),.venv/.networks)
	$(BIN)/tcuq device bench --check
	@if [ -n "$$TCUQ_DATA" ]; then \
		$(BIN)/tcuq-lab boards replay && $(BIN)/tcuq-lab boards table && $(BIN)/tcuq-lab boards page --check; \
	else \
		echo "networks on boards need datasets: set TCUQ_DATA (tcuq-lab data list), then make device again"; \
	fi

results: .venv/.test
	$(BIN)/tcuq-lab results

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
	.venv-compare/bin/python tools/compare_corruptions.py

# An environment of its own: the package needs an old setuptools.
.venv/.compare: $(SOURCES)
	python3 -m venv .venv-compare
	.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check -e ".[compare]" scikit-image pooch pytest
	@mkdir -p .venv && touch $@

.venv/.demo: $(SOURCES)
	sh tools/setup.sh run demo
	@touch $@

.venv/.test: $(SOURCES)
	sh tools/setup.sh test dev
	@touch $@

.venv/.device: $(SOURCES)
	sh tools/setup.sh device
	@touch $@

# Networks on boards: PyTorch to read weights, and what corrupts pictures and sound.
.venv/.networks: $(SOURCES)
	sh tools/setup.sh networks lab
	@touch $@

.venv/.bench: $(SOURCES)
	sh tools/setup.sh run bench,demo
	@touch $@

clean:
	rm -rf .venv .venv-compare build out src/tcuq.egg-info src/tcuq/*.so
