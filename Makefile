# Two commands matter: `make demo` and `make test`. They need Python 3.10 or newer and nothing else.
#
#     make demo PYTHON=python3.12     which interpreter makes the virtual environment
#     make demo ARGS="--cpu"          more arguments for the example
#     make test ARGS="-k launch"      more arguments for pytest
#
# Kept to what GNU make 3.81 knows, since that is the make of macOS.

PYTHON ?=
VENV ?= .venv
ARGS ?=
JOBS ?= auto
PEER = accelerate==1.15.0

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --disable-pip-version-check

.PHONY: help demo test test-simulated check format docs bench peer clean

help:
	@echo "make demo     install, fetch photos and weights, fine-tune an image model on the best device here"
	@echo "make test     install and run the tests"
	@echo "make test-simulated   the same tests of one device again on a simulated Apple GPU (Linux, C++ compiler)"
	@echo "make check    ruff, pyrefly, import layers, architecture limits"
	@echo "make format   let ruff rewrite the files"
	@echo "make docs     build the documentation into site/"
	@echo "make bench    measure start-up and training overhead, write benchmarks/results/"
	@echo "make clean    remove what these commands made, photos and weights included"

demo: $(VENV)/.examples
	@$(BIN)/python scripts/fetch.py photos images
	@$(BIN)/python scripts/fetch.py weights downloads || echo "The example will ask the hub for the weights."
	$(BIN)/accelerate launch examples/cv_example.py --data_dir images $(ARGS)

test: $(VENV)/.test peer
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) $(ARGS)

# Tests that take the best device of the machine get the simulated one here. Those of scripts/ know no device.
test-simulated: $(VENV)/.simulator
	OMP_NUM_THREADS=1 $(BIN)/python -m mps_simulator -m pytest -n $(JOBS) tests/unit tests/mps --ignore tests/unit/scripts $(ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -p mps_simulator.pytest_plugin simulator/tests $(ARGS)

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_architecture.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is at site/index.html"

bench: $(VENV)/.test peer
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/training_overhead.py

# The other implementation of the API, kept apart from ours: the parity tests run both side by side.
# They are skipped where it cannot be had, so this never fails.
peer: $(VENV)/.test
	@test -d .peer/accelerate || { \
	  rm -rf .peer .peer.partial; \
	  $(PIP) --quiet --no-deps --target .peer.partial "$(PEER)" && mv .peer.partial .peer \
	  || echo "$(PEER) cannot be had here: the tests that compare with it will be skipped."; }

# A stamp says what is installed; a change of pyproject.toml makes it old.
$(VENV)/bin/python:
	@scripts/make_venv.sh "$(VENV)" "$(PYTHON)"

$(VENV)/.examples: $(VENV)/bin/python pyproject.toml
	$(PIP) -e ".[examples]"
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml
	$(PIP) -e ".[test,examples]"
	@touch $@ $(VENV)/.examples

$(VENV)/.simulator: $(VENV)/.test simulator/pyproject.toml
	$(PIP) -e simulator
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(PIP) -e ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) .peer .peer.partial site images downloads build .pytest_cache .ruff_cache .pyrefly_cache .import_linter_cache .hypothesis
