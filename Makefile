# make demo . make test . make check . make bench . make leaderboard . make auto . make peers . make papers . make retroactive . make ranges . make neighbourhood . make crash . make audit . make counterexamples . make mutants: each makes the environment it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOURCE := pyproject.toml
DATA   ?= $(PENSTOCK_DATA)

.PHONY: help demo test check bench leaderboard auto peers papers retroactive ranges neighbourhood crash audit counterexamples mutants clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Penstock needs Python 3.11 or newer; call: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python $(SOURCE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

$(VENV)/.test: $(BIN)/python $(SOURCE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,plot]'
	@touch $@

$(VENV)/.check: $(VENV)/.test $(SOURCE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[check,test,plot]'
	@touch $@

demo: $(VENV)/.demo ## publish a made-up stream through a durable store, killed and resumed; a table, a picture, demo.png
	$(BIN)/penstock demo --picture demo.png

# one thread of linear algebra for each process: there is a process for every core already
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.test ## run the tests
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.check ## formatting, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.test ## measure speed and durability as ratios of one run, about seven minutes
	$(BIN)/python -m penstock.bench

leaderboard: $(VENV)/.demo ## every mechanism on every stream, with tables, figures and a report in benchmarks/; what is known is not run again
	$(BIN)/penstock bench leaderboard $(if $(DATA),--data "$(DATA)") $(if $(ADOPT),--adopt "$(ADOPT)") $(LEADERBOARD)

auto: $(VENV)/.demo ## what is asked of auto, measured on the streams in DATA=folder, in benchmarks/auto.md; what is known is not run again
	$(BIN)/penstock bench auto $(if $(DATA),--data "$(DATA)") $(if $(ADOPT),--adopt "$(ADOPT)") $(AUTO)

peers: $(VENV)/.demo ## compare errors with published ones on the streams in DATA=folder (or PENSTOCK_DATA), a few minutes
	$(BIN)/penstock bench peers $(if $(DATA),--data "$(DATA)")

papers: $(VENV)/.test ## does what two papers show of DSAT and SPAS hold by default? a few minutes; the census of DATA=folder
	$(BIN)/python -m penstock.bench.papers --data "$(DATA)"

retroactive: $(VENV)/.test ## compare RG with publishing always, on made-up streams and those in DATA=folder, a few minutes
	$(BIN)/python -m penstock.bench.retroactive --data "$(DATA)"

ranges: $(VENV)/.test ## compare histogram methods by range counts, and see how often noise intervals hold; draws ranges.png
	$(BIN)/python -m penstock.bench.ranges --data "$(DATA)" --figure ranges.png

neighbourhood: $(VENV)/.test ## what a neighbourhood buys: points, histograms and medians by radius, and planned budgets; draws neighbourhoods.png
	$(BIN)/python -m penstock.bench.neighbourhood --figure neighbourhoods.png
	$(BIN)/python -m penstock.bench.allocators

crash: $(VENV)/.test ## kill publishers, give malformed inputs, fail system calls, cut power, flip bits; about ten minutes
	$(BIN)/python -m penstock.audit.crash --kills 250
	$(BIN)/python -m penstock.audit.hazards --minutes 6

audit: $(VENV)/.test ## recount stores that adversaries filled, attack every mechanism, kill every planted failure; about forty minutes
	$(BIN)/python -m penstock.audit $(AUDIT)

counterexamples: $(VENV)/.test ## five ways a published mechanism loses its guarantee, measured; about a minute
	$(BIN)/python -m penstock.audit.counterexamples

mutants: $(VENV)/.test ## small changes to the kernel and the store that some test has to notice; stops after forty minutes, and goes on when called again
	$(BIN)/python -m penstock.audit.mutation $(MUTANTS)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
