# Everything goes through these targets; `make` alone says what they are.
BUILD   := build
SAN     := $(BUILD)/san
N       ?= 1000
LISTEN  ?= 127.0.0.1:7332
PREFIX  ?= /usr/local
DESTDIR ?=
# Whatever is started from here keeps its state here, and not in the home of who started it.
export HOLDFAST_STATE_DIR ?= $(CURDIR)/$(BUILD)/state
# Warnings are errors here and not for a packager, whose compiler may know more of them than ours.
MESON_FLAGS ?= -Dwerror=true -Dbench=true

.PHONY: help setup setup-test build build-tests run test sim bench bench-scale bench-store bench-turns clients fuzz kills mutants lint install uninstall format clean

help:
	@echo 'make run        install what is needed, build, show holdfast at work, then serve (LISTEN=$(LISTEN))'
	@echo 'make test       install what is needed, build, and run every test'
	@echo 'make setup      install what is needed for building (Debian; elsewhere see docs/PACKAGING.md)'
	@echo 'make build      build $(BUILD)/holdfast with what is there'
	@echo 'make install    put it under PREFIX ($(PREFIX)), in DESTDIR if given; `make uninstall` takes it away'
	@echo 'make sim        100,000 seeds of the simulator (`make test` runs 20,000)'
	@echo 'make bench      speed beside a byte relay and beside other proxies, in one run'
	@echo 'make bench-scale  many sessions, calls, subscriptions, tools: does one cost more among many?'
	@echo 'make bench-store  marks, rows, loading, growth: what keeping things costs'
	@echo 'make bench-turns BASE=DIR  what a call costs here, beside the build in DIR'
	@echo 'make clients    drive real agents by a scripted model, and bring docs/CLIENTS.md up to date'
	@echo 'make fuzz       fuzz each parser for a minute'
	@echo 'make kills      N=1000 kills -9 under load'
	@echo 'make mutants    break each promise on purpose and see a test fail'
	@echo 'make lint       layout, both compilers, cppcheck, clang-tidy with its analyzer (`make test` runs it without)'
	@echo 'make clean      remove $(BUILD)/'

setup:
	@scripts/setup build

setup-test:
	@scripts/setup test

$(BUILD)/build.ninja:
	@echo 'building into $(BUILD)/: half a minute the first time'
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) -Dprefix=$(PREFIX) $(MESON_FLAGS) >$(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log; exit 1; }

$(SAN)/build.ninja: | $(BUILD)/build.ninja
	@meson setup $(SAN) -Dwerror=true -Dchecks=true -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false >$(BUILD)/setup-san.log 2>&1 \
	  || { cat $(BUILD)/setup-san.log; exit 1; }

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet without-tests

# What the tests need: a few programs as they are shipped, all others with sanitizers.
build-tests: $(BUILD)/build.ninja $(SAN)/build.ninja
	@ninja -C $(BUILD) --quiet helpers
	@ninja -C $(SAN) --quiet holdfast unit-tests helpers

# Installs no package, and builds nothing after `make build` with the same PREFIX.
install: $(BUILD)/build.ninja
	@scripts/install put $(BUILD) '$(PREFIX)' '$(DESTDIR)'

uninstall: $(BUILD)/build.ninja
	@scripts/install away $(BUILD) '$(PREFIX)' '$(DESTDIR)'

run: setup
	@$(MAKE) --no-print-directory build
	@mkdir -p $(BUILD)/run
	@$(BUILD)/holdfast-scenes $(BUILD)/holdfast $(BUILD)/holdfast-ledger $(BUILD)/run $(LISTEN)

test: setup-test
	@$(MAKE) --no-print-directory build-tests
	@scripts/run-tests.py

sim: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet test/test_sim
	@$(BUILD)/test/test_sim --seeds 1-100000 --progress

bench: setup-test
	@$(MAKE) --no-print-directory build
	@$(BUILD)/bench_client $(BUILD)/holdfast $(BUILD)/bench_echo
	@$(BUILD)/bench_http_client $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench_http_echo \
	  $(CURDIR)/$(BUILD)/npm/node_modules $(CURDIR)/$(BUILD)/bench-http

bench-scale: build
	@$(BUILD)/bench_sessions $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench-scale
	@echo
	@$(BUILD)/bench_queue $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench-scale
	@echo
	@$(BUILD)/bench_lookups $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_many $(BUILD)/bench-scale
	@echo
	@$(BUILD)/bench_crowd $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(CURDIR)/$(BUILD)/bench_many $(BUILD)/bench-scale
	@echo
	@$(BUILD)/bench_attackers $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(CURDIR)/$(BUILD)/bench_many $(BUILD)/bench-scale

bench-store: build
	@$(BUILD)/bench_store $(BUILD)/bench-store

bench-turns: build
	@test -x '$(BASE)/holdfast' || { echo 'make bench-turns BASE=DIR: DIR is the build directory of another version'; exit 2; }
	@bench/turns '$(BASE)/holdfast' $(BUILD)/holdfast

clients: setup-test
	@$(MAKE) --no-print-directory build
	@test/clients/agents/run

mutants: setup-test
	@$(MAKE) --no-print-directory build-tests
	@scripts/mutants

kills: setup-test
	@$(MAKE) --no-print-directory build-tests
	@KILLS=$(N) test/suites/kills

fuzz: setup-test
	@scripts/fuzz

lint: setup-test
	@$(MAKE) --no-print-directory build
	@scripts/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)
