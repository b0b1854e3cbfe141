# make reproduce   redraw every figure of the paper and check its claims, into reproduction/
# make test        lint, types, tests: everything that must hold
# make bench       measure speed against the yardstick, write bench/table.md

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: reproduce test bench clean

reproduce: $(READY)
	$(BIN)/ocucb reproduce

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile

bench: $(READY)
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python bench/run.py

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv reproduction .mypy_cache .pytest_cache .ruff_cache .hypothesis
