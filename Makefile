# Short names for the usual jobs. Each one first installs what this machine lacks (see scripts/install_deps.sh).
SHELL := /bin/bash
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help demo test wheel bench gpu-test lint fuzz install-deps build clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

install-deps: ## Install every package that building, testing and benchmarking need
	@./scripts/install_deps.sh all

build: ## Build the library and the command line tool into build/
	@./scripts/install_deps.sh build
	@$(PYTHON) scripts/build.py release

demo: ## Build, then run attention on real Q, K, V and print a table of errors and speeds
	@./scripts/install_deps.sh build
	@$(PYTHON) scripts/build.py release --target fovea_cli
	@./scripts/demo.sh

test: ## Build everything and run every tier of tests; the last line sums them up
	@./scripts/install_deps.sh test
	@$(PYTHON) scripts/run_tiers.py

wheel: ## Make the Python wheel in build/wheel/dist and install it into .venv
	@./scripts/install_deps.sh bench
	@$(PYTHON) scripts/build.py release --target fovea
	@$(PYTHON) scripts/venv.py
	@$(PYTHON) scripts/wheel.py

bench: ## Time against PyTorch on this machine (installs PyTorch into .venv)
	@./scripts/install_deps.sh bench
	@$(PYTHON) scripts/build.py release --target fovea_cli
	@$(PYTHON) scripts/venv.py --require torch
	@.venv/bin/python bench/bench_sdpa.py $(BENCH_ARGS)

gpu-test: ## On a machine with an NVIDIA GPU: conformance, parity, sanitizers, speed
	@./scripts/install_deps.sh build
	@$(PYTHON) scripts/build.py release --target fovea_cli
	@./scripts/gpu_tests.sh

lint: ## Layers, style, format, headers that compile alone
	@./scripts/install_deps.sh lint
	@$(PYTHON) scripts/lint/run.py

fuzz: ## Fuzz the file readers and the argument checks, FUZZ_SECONDS (60) each
	@./scripts/install_deps.sh test
	@$(PYTHON) scripts/run_tiers.py --only fuzz --fuzz-seconds $(or $(FUZZ_SECONDS),60)

clean: ## Remove build directories
	rm -rf build build-*
