# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

# One stamp per set of extras: installing again is only needed when these two files change.
RUNTIME := .venv/.installed-runtime
DEVELOPMENT := .venv/.installed-development

# The rooms whose tests need neither the clock nor a browser.
QUICK := $(addprefix tests/,model linear milp search writers persistence tables workflow test_house.py test_stopping.py \
	test_certificate.py test_files.py test_memory.py test_datasets.py test_repository.py)

.PHONY: demo test quick lint docs bench clean

demo: $(RUNTIME)
	$(BIN)/python examples/labour_force.py

# Worksteal lets a worker run whole files where it can, so that what a file prepares is prepared once.
test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests src

# No solver races, no browser, no documentation build: what to run after every change.
quick: $(DEVELOPMENT)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(QUICK)

lint: $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEVELOPMENT)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "The pages are in docs/_build/html; open docs/_build/html/index.html."

bench:
	@echo "Measurements, no tests: each prints a table. Run one with $(BIN)/python FILE; --help tells its options."
	@for file in bench/*.py; do [ -e "$$file" ] || continue; printf '  %-20s %s\n' "$$file" "$$(head -n 1 "$$file" | tr -d '"')"; done

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist docs/_build docs/guide docs/gallery
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "s2oct needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	@touch $@

$(DEVELOPMENT): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[scip,gurobi,files,cli,app,study,dask,onnx,bench,docs,dev]'
	@touch $@ $(RUNTIME)
