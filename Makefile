# Everything here starts from Python 3.11 or later, pip, make and a C++ compiler. Each target sets up what it needs in
# $(VENV) and leaves a stamp there, so that a second call costs nothing.

PYTHON ?= python3
VENV ?= .venv
SOAK_VENV ?= build/soak/venv
WORKERS ?= 2

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
NATIVE := CMakeLists.txt $(shell find native -name '*.cpp' -o -name '*.h')
CXX_SOURCES := $(filter-out CMakeLists.txt,$(NATIVE))

.DEFAULT_GOAL := help
.PHONY: help build demo test bench soak examples docs fmt lint wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(STAMPS)/package ## compile the core and install the package, editable, in the virtual environment

demo: build $(STAMPS)/demo ## see what memetik does, in a terminal and a picture
	$(BIN)/memetik demo

test: $(STAMPS)/test ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

bench: $(STAMPS)/test $(STAMPS)/bench ## run every benchmark in benchmarks/; fails if a bar does not hold
	@status=0; for script in $(sort $(wildcard benchmarks/*.py)); do \
		echo "== $$script"; $(BIN)/python $$script || status=1; done; exit $$status

examples: build $(STAMPS)/bench ## run every script in examples/
	@set -e; for script in $(sort $(wildcard examples/[0-9]*.py)); do echo "== $$script"; $(BIN)/python $$script; done

docs: $(STAMPS)/docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

fmt: $(STAMPS)/lint ## format Python and C++
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	$(if $(CXX_SOURCES),$(BIN)/clang-format -i $(CXX_SOURCES))

lint: $(STAMPS)/lint $(STAMPS)/test ## check style, types and the direction of imports
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(if $(CXX_SOURCES),$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES))
	$(BIN)/lint-imports --no-logo
	$(BIN)/pyright --pythonpath $(BIN)/python

# The sanitizers' runtime must be loaded before Python itself. Python and numpy keep memory until the process ends,
# so that leak reports would not be about the core.
SANITIZER_RUNTIME = $(foreach library,libasan.so libubsan.so,$(shell $${CXX:-c++} -print-file-name=$(library)))
SANITIZED = LD_PRELOAD="$(SANITIZER_RUNTIME)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
soak: $(SOAK_VENV)/.stamps/sanitized ## tests with the core under sanitizers, then the long tests, then the benchmark in full
	$(SANITIZED) $(SOAK_VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not soak and not unsanitized" $(ARGS)
	$(MAKE) $(STAMPS)/test
	$(BIN)/python -m pytest -m soak $(ARGS) || [ $$? -eq 5 ]  # 5: there is no such test
	$(MAKE) $(STAMPS)/bench
	mkdir -p out && $(BIN)/memetik bench run soak --store out/soak.db  # takes days; the same command goes on
	$(BIN)/memetik bench report out/soak.db -o out/soak.html

wheel: $(STAMPS)/tools ## build a wheel for this machine into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean: ## remove what was built, but not the virtual environment
	rm -rf build dist site out
	rm -f $(STAMPS)/package

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memetik needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	$(INSTALL) --upgrade pip
	$(INSTALL) 'scikit-build-core>=0.11' 'nanobind>=2.4' 'cmake>=3.18' ninja
	@touch $@

$(STAMPS)/package: $(STAMPS)/tools pyproject.toml $(NATIVE)
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

$(STAMPS)/demo: $(STAMPS)/package
	$(INSTALL) --group demo
	@touch $@

$(STAMPS)/test: $(STAMPS)/package $(STAMPS)/browser
	$(INSTALL) --group test
	@touch $@

# The studio is tested in a real browser, where there is one or it may be installed.
$(STAMPS)/browser: $(STAMPS)/venv
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& { apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 \
			|| { apt-get update >/dev/null 2>&1 && apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; }; }; } \
		|| echo "Chromium is not installed: the studio's tests in a browser will be skipped."
	@touch $@

$(STAMPS)/bench: $(STAMPS)/package
	$(INSTALL) --group bench
	@touch $@

$(STAMPS)/lint: $(STAMPS)/tools
	$(INSTALL) --group lint
	@touch $@

$(STAMPS)/docs: $(STAMPS)/tools
	$(INSTALL) --group docs
	@touch $@

# Making the stubs imports the module, here without its runtime loaded first.
$(SOAK_VENV)/.stamps/sanitized: pyproject.toml $(NATIVE)
	$(MAKE) VENV=$(SOAK_VENV) $(SOAK_VENV)/.stamps/tools
	ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 $(SOAK_VENV)/bin/python -m pip install --quiet \
		--no-build-isolation --editable . --config-settings=build-dir=build/soak/core \
		--config-settings=cmake.define.MEMETIK_SANITIZE=ON --config-settings=cmake.build-type=RelWithDebInfo
	$(SOAK_VENV)/bin/python -m pip install --quiet --group test
	@touch $@
