# Everything goes through these targets; `make` alone says what they are.
BUILD := build
SAN   := build/san
JOBS  := $(shell nproc)
N     ?= 1000

.PHONY: help setup setup-test build san run test bench fuzz kills mutants lint format clean

help:
	@echo 'make run      install what is needed, build, and show holdfast at work'
	@echo 'make test     install what is needed, build, and run every test'
	@echo 'make build    build $(BUILD)/holdfast'
	@echo 'make bench    speed beside a byte relay, in one run'
	@echo 'make fuzz     fuzz each parser for a minute'
	@echo 'make kills    N=1000 kills -9 under load'
	@echo 'make mutants  break each promise on purpose and see a test fail'
	@echo 'make lint     clang-tidy, cppcheck, layout'
	@echo 'make clean    remove $(BUILD)/'

setup:
	@scripts/setup build

setup-test:
	@scripts/setup test

$(BUILD)/build.ninja:
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/setup.log

$(SAN)/build.ninja: $(BUILD)/build.ninja
	@meson setup $(SAN) -Db_sanitize=address,undefined -Db_lundef=false >$(BUILD)/setup-san.log 2>&1 \
	  || { cat $(BUILD)/setup-san.log; exit 1; }

build: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

san: setup $(SAN)/build.ninja
	@ninja -C $(SAN) --quiet

clean:
	@rm -rf $(BUILD)

test: setup-test
	@$(MAKE) --no-print-directory build san
	@scripts/run-tests.py

run: build
	@$(BUILD)/holdfast --help
