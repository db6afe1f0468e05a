# Everything goes through these targets; `make` alone says what they are.
BUILD := build
SAN   := build/san
N     ?= 1000

.PHONY: help setup setup-test build san run test bench bench-scale bench-turns fuzz kills mutants lint format clean

help:
	@echo 'make run      install what is needed, build, show holdfast at work, then serve'
	@echo 'make test     install what is needed, build, and run every test'
	@echo 'make build    build $(BUILD)/holdfast'
	@echo 'make bench    speed beside a byte relay and beside other proxies, in one run'
	@echo 'make bench-scale  many sessions, and a long queue of calls: does one cost more among many?'
	@echo 'make bench-turns BASE=DIR  what a call costs here, beside the build in DIR'
	@echo 'make fuzz     fuzz each parser for a minute'
	@echo 'make kills    N=1000 kills -9 under load'
	@echo 'make mutants  break each promise on purpose and see a test fail'
	@echo 'make lint     layout, architecture, clang-tidy, cppcheck, both compilers'
	@echo 'make clean    remove $(BUILD)/'

setup:
	@scripts/setup build

setup-test:
	@scripts/setup test

$(BUILD)/build.ninja:
	@echo 'building into $(BUILD)/: half a minute the first time'
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) >$(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log; exit 1; }

$(SAN)/build.ninja: | $(BUILD)/build.ninja
	@meson setup $(SAN) -Doptimization=2 -Db_sanitize=address,undefined -Db_lundef=false >$(BUILD)/setup-san.log 2>&1 \
	  || { cat $(BUILD)/setup-san.log; exit 1; }

build: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

san: setup $(SAN)/build.ninja
	@ninja -C $(SAN) --quiet

run: build
	@mkdir -p $(BUILD)/run
	@$(BUILD)/holdfast-scenes $(BUILD)/holdfast $(BUILD)/holdfast-ledger $(BUILD)/run
	@echo
	@echo 'Now the same server over HTTP, until Ctrl-C:'
	@echo
	@exec $(BUILD)/holdfast serve -c $(BUILD)/run/config.json --log-level warn

test: setup-test
	@$(MAKE) --no-print-directory build san
	@scripts/run-tests.py

bench: setup-test
	@$(MAKE) --no-print-directory build
	@$(BUILD)/bench_client $(BUILD)/holdfast $(BUILD)/bench_echo
	@$(BUILD)/bench_http_client $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench_http_echo \
	  $(CURDIR)/$(BUILD)/npm/node_modules $(CURDIR)/$(BUILD)/bench-http

bench-scale: build
	@$(BUILD)/bench_sessions $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench-scale
	@echo
	@$(BUILD)/bench_queue $(BUILD)/holdfast $(CURDIR)/$(BUILD)/bench_echo $(BUILD)/bench-scale

bench-turns: build
	@test -x '$(BASE)/holdfast' || { echo 'make bench-turns BASE=DIR: DIR is the build directory of another version'; exit 2; }
	@bench/turns '$(BASE)/holdfast' $(BUILD)/holdfast

mutants: setup-test
	@scripts/mutants

kills: setup-test
	@$(MAKE) --no-print-directory build
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
