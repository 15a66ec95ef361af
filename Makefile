# Everything runs in .venv, which the first target that needs it creates. Naming another PYTHON replaces it.
PYTHON ?= $(firstword $(wildcard .venv/bin/python) python3)
BIN := .venv/bin
WORKERS ?= 2

# This folder is there exactly if .venv has that Python.
ENVIRONMENT := .venv/lib/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# One stamp per set of packages: installing again, which builds what has changed, is only needed when these files change.
CORE := CMakeLists.txt $(wildcard cpp/*.cpp cpp/*.h)
TOOLS := $(ENVIRONMENT)/.tools
RUNTIME := $(ENVIRONMENT)/.runtime
DEVELOPMENT := $(ENVIRONMENT)/.development
INSTALL := $(BIN)/python -m pip install -q -c constraints.txt

# The packages whose tests need neither the clock nor a browser.
QUICK := $(addprefix tests/,core trees problem p2 evidence output/exports output/model_files tables workflow test_house.py test_stopping.py \
	test_certificate.py test_files.py test_memory.py test_datasets.py test_repository.py)

# The tests that call the compiled core and little else.
KERNELS := tests/core tests/p2 tests/evidence

.PHONY: demo test quick lint format stubs sanitize package docs bench clean

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
	$(BIN)/clang-format --dry-run -Werror cpp/*.cpp cpp/*.h
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEVELOPMENT)
	$(BIN)/ruff format .
	$(BIN)/clang-format -i cpp/*.cpp cpp/*.h

# The types of the compiled core, which mypy reads; tests/core/test_build.py says when they are out of date.
stubs: $(DEVELOPMENT)
	$(BIN)/python -m nanobind.stubgen -q --exclude-values -m s2oct._core -o src/s2oct/_core.pyi

# A core that checks every address and index, in an environment of its own that borrows the packages of .venv. Python
# itself is not built with the sanitizers, so their libraries must be loaded first; it also never frees everything.
CHECKED := build/sanitize
sanitize: $(DEVELOPMENT)
	$(BIN)/python -m venv --without-pip $(CHECKED)
	echo "$(CURDIR)/$(ENVIRONMENT)/site-packages" > $(CHECKED)/$(ENVIRONMENT:.venv/%=%)/site-packages/borrowed.pth
	$(CHECKED)/bin/python -m pip install -q --no-build-isolation --no-deps --force-reinstall . \
		--config-settings=build-dir=$(CHECKED)/core --config-settings=cmake.build-type=Debug \
		--config-settings=cmake.define.S2OCT_SANITIZE=ON
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 $(CHECKED)/bin/python -m pytest -n $(WORKERS) $(KERNELS)

# An sdist, a wheel built from it, and a fit with that wheel in an empty environment outside of this folder.
package: $(DEVELOPMENT)
	.ci/package

docs: $(DEVELOPMENT)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "The pages are in docs/_build/html; open docs/_build/html/index.html."

bench:
	@echo "Measurements, no tests: each prints a table. Run one with $(BIN)/python FILE; --help tells its options."
	@for file in bench/*.py; do [ -e "$$file" ] || continue; printf '  %-20s %s\n' "$$file" "$$(head -n 1 "$$file" | tr -d '"')"; done

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist docs/_build docs/guide docs/gallery
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENT):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "s2oct needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }

# Not in an isolated environment of pip's, so that only what has changed is built again. pip itself is updated first: that
# of a new environment may be older than 25.1 and not know dependency groups.
$(TOOLS): pyproject.toml constraints.txt | $(ENVIRONMENT)
	@{ command -v "$$CXX" || command -v c++ || command -v g++ || command -v clang++; } >/dev/null \
		|| { echo "s2oct needs a C++17 compiler: install g++ or clang++, or set CXX to its path."; exit 1; }
	$(INSTALL) pip scikit-build-core nanobind cmake ninja
	@touch $@

$(RUNTIME): $(CORE) $(TOOLS)
	$(INSTALL) --no-build-isolation -e .
	@touch $@

# Warnings of the compiler are errors here, but not for those who only want to use the package.
$(DEVELOPMENT): $(CORE) $(TOOLS)
	$(INSTALL) --no-build-isolation --config-settings=cmake.define.S2OCT_STRICT=ON \
		-e '.[scip,gurobi,files,cli,app,study,dask,onnx]' --group dev --group docs --group bench
	@touch $@ $(RUNTIME)
