# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

# One stamp per set of extras: installing again is only needed when these two files change.
RUNTIME := .venv/.installed-runtime
DEVELOPMENT := .venv/.installed-development

.PHONY: demo test lint bench clean

demo: $(RUNTIME)
	$(BIN)/python examples/labour_force.py

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) tests src

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench:
	@echo "Each measurement is a script that prints a table; run one with: $(BIN)/python bench/NAME.py"
	@found=$$(ls bench/*.py 2>/dev/null); if [ -n "$$found" ]; then printf '  %s\n' $$found; else echo "  (there is none yet)"; fi

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "s2oct needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	@touch $@

$(DEVELOPMENT): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[scip,gurobi,plot,dev]'
	@touch $@ $(RUNTIME)
