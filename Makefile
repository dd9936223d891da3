# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A front for CMake: everything goes under build/. `make help` lists the targets.
BUILD := build
JOBS  ?= $(shell nproc)

.PHONY: all help deps demo check packages test-packages test-rpms test test-all test-unit test-integration test-matrix test-bytes test-clients \
	test-pyverbs test-interop test-models fuzz bench asan ubsan tsan threads clang format format-check clean

all: deps ## build (the default)
	@scripts/build $(BUILD) -j$(JOBS)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

deps: ## install what building needs (apt, with sudo if not root)
	@scripts/install-deps --build

demo: ## install what is missing, build, and show dpa0 at work
	@scripts/install-deps --demo
	@scripts/build $(BUILD) -j$(JOBS)
	@scripts/demo $(BUILD)

test: ## all but the long tests: unit, integration (quick), pyverbs, ASan and UBSan, TSan of what has threads, fuzz
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS)

test-all: ## the long tests, too, for hours: clang, TSan of all, models, fuzz, bytes, clients, matrix, packages, interop (root)
	@scripts/install-deps --test --clients --interop --pages --packages
	@scripts/test --build $(BUILD) -j$(JOBS) --all

check: ## a minute: what changed since origin/main, its unit tests, a smoke test
	@scripts/install-deps --test
	@scripts/check --build $(BUILD) -j$(JOBS)

test-unit: ## unit tests only
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) build unit

test-integration: ## real programs between two processes, the quick subset
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) build integration

test-matrix: ## every combination that perftest accepts (long)
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) build matrix

test-bytes: ## every byte of every completion: all kinds, links, receivers, for SECONDS (3600)
	@scripts/install-deps --test
	@scripts/build $(BUILD) -j$(JOBS)
	@tests/integration/bytes/test_matrix --build $(BUILD) --full --seconds $(or $(SECONDS),3600)

test-clients: ## programs and whole systems over rdma_cm at every place and address (long; root for two users)
	@scripts/install-deps --test --clients
	@scripts/test --build $(BUILD) -j$(JOBS) build clients

test-pyverbs: ## rdma-core's own Python tests
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) build pyverbs

test-interop: ## against a kernel's Soft-RoCE in a virtual machine (fetches a kernel; minutes)
	@scripts/install-deps --test --interop
	@scripts/build $(BUILD) -j$(JOBS)
	@tests/integration/interop/run --build $(BUILD)

test-models: ## the models, with spin
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) model

fuzz: ## the fuzz targets for ten minutes (`make test`: one)
	@scripts/install-deps --test
	@tests/fuzz/run --build $(BUILD)/fuzzing --seconds 600

bench: ## ratios against UCX and the machine's own limits
	@scripts/install-deps --bench
	@scripts/build $(BUILD) -j$(JOBS)
	@bench/run $(BUILD) --csv $(BUILD)/bench.csv

asan ubsan tsan threads: ## unit tests under AddressSanitizer, UndefinedBehaviorSanitizer, ThreadSanitizer (threads: those that start any)
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) $@

clang: ## compile everything with clang -Werror (`make check`: its warnings for what changed)
	@scripts/install-deps --test
	@scripts/test --build $(BUILD) -j$(JOBS) clang

format: ## clang-format the sources
	@git ls-files '*.c' '*.h' | xargs -r clang-format -i

format-check: ## fail when clang-format would change something
	@git ls-files '*.c' '*.h' | xargs -r clang-format --dry-run -Werror

clean: ## remove build/
	@rm -rf $(BUILD)

packages: ## Debian packages, in build/packages
	@scripts/install-deps --packages
	@scripts/packages $(BUILD)/packages

test-packages: ## install, use, upgrade and remove them in a fresh Debian, build them again, cross (root; fetches Debian)
	@scripts/install-deps --packages
	@scripts/test --build $(BUILD) packages cross

test-rpms: ## the rpm packages of the committed tree: file by file, run, built again, installed by dnf (root; fetches Debian)
	@scripts/install-deps --packages
	@scripts/test --build $(BUILD) rpms
