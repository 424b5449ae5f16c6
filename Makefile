# `make demo` shows the main job on a fresh machine, `make test` passes the tests, `make check` is what CI runs.
# Everything lives in .venv, pinned by constraints.txt; a target sets up what it needs, and nothing that is there already.

PYTHON := .venv/bin/python
# How many processes run the tests. Most tests wait for a part of their time: one more than there are cores. Real agents do not.
WORKERS ?=
ONE_MORE = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# CI sets proof.again, which runs a few failed tests once more, alone.
RUNNER ?= pytest
# Bytecode is kept, whatever the environment says: else each of these processes compiles every test anew.
PYTEST = env PYTHONDONTWRITEBYTECODE= $(PYTHON) -m $(RUNNER) -n $(or $(WORKERS),$(ONE_MORE)) --dist worksteal --durations=25

.PHONY: help setup demo test test-most test-agents test-agents-older test-agents-user agents-newest test-fast test-newest check lint fix types imports packages bench compare chaos cheats escapes honest prove fuzz newcomer \
    agents clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# A name on PATH may be a slow shim, or one whose version is not there: ask each for its real path, take the first that answers.
FIND_PYTHON = for name in python3.11 python3.12 python3.13 python3.14 python3; do \
    found=$$($$name -c 'import sys, venv, ensurepip; assert sys.version_info >= (3, 11); print(sys.executable)' 2>/dev/null) \
        && [ -x "$$found" ] && break; found=; done

NO_PYTHON = No Python 3.11 or later with venv was found.\nhint: install one, such as python3.11 with python3.11-venv.

# The stamp holds a checksum of all that decides what gets installed, the place included: scripts in .venv name it.
KEY = $$( (cat pyproject.toml constraints.txt; pwd) | cksum)

EVERYTHING := .[dev,serve,cluster,notify,mcp,acp]

# $(call install,STAMP,REQUIREMENT)
define install
set -e; key="$(KEY)"; \
if [ ! -x $(PYTHON) ] || ! $(PYTHON) -c '' 2>/dev/null; then \
    found=; $(FIND_PYTHON); [ -n "$$found" ] || { printf '$(NO_PYTHON)\n' >&2; exit 1; }; \
    echo "Making .venv with $$found" >&2; rm -rf .venv; "$$found" -m venv .venv; \
fi; \
echo "Installing $(2) into .venv" >&2; \
$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt -e "$(2)"; \
echo "$$key" > .venv/$(1)
endef

# $(call current,STAMP): does the stamp say that nothing changed since, and does the environment still run?
current = [ "$$(cat .venv/$(1) 2>/dev/null)" = "$(KEY)" ] && $(PYTHON) -c '' 2>/dev/null

setup: ## make .venv with everything that development needs
	@if $(call current,.stamp-full); then :; else $(call install,.stamp-full,$(EVERYTHING)); fi

demo: ## set up the least that is needed and run the demo
	@if $(call current,.stamp-full) || $(call current,.stamp-light); then :; else $(call install,.stamp-light,.); fi
	@.venv/bin/untildone demo

test: test-most test-agents ## the whole suite

test-most: setup
	$(PYTEST) -m "not real_agent"

# The real agents see no network but loopback: in CI always, elsewhere where the machine allows it.
ALONE = $$(if [ -n "$$CI" ] || scripts/in-netns true 2>/dev/null; then echo scripts/in-netns; fi)

PYTEST_AGENTS = $(ALONE) $(PYTEST) -n $(or $(WORKERS),auto) -m real_agent

# AGENT=claude: only the tests of that one.
test-agents: setup ## the real agent programs in whole loops, without a network
	$(PYTEST_AGENTS) $(if $(AGENT),-k "$(AGENT)")

# What people have: Claude Code as Node 20 gets it without a version, and an opencode that lacks an option.
OLDER ?= claude=2.1.197 opencode=1.17.11
# An older opencode waits by itself for a limit and after a broken stream; an older Claude Code cannot copy a session.
OLDER_CHOSEN = (claude or opencode or real_modes) and not copy_of_the_session and not (opencode and (waits_for_a_limit or broken_stream))
OLDER_TESTS = tests/e2e/test_real_modes.py tests/e2e/test_real_agents.py
test-agents-older: setup ## the same with older releases of some of them
	@UNTILDONE_AGENT_VERSIONS="$(OLDER)" scripts/install-agents
	UNTILDONE_AGENT_VERSIONS="$(OLDER)" $(PYTEST_AGENTS) $(OLDER_TESTS) -k "$(OLDER_CHOSEN)"

# A box of an ordinary user is made by other means than that of root: the same tests, finished, resumed, killed, forked, wrapped.
USER_TESTS = tests/e2e/test_real_agents.py tests/e2e/test_wrap_real.py
USER_CHOSEN = claims_too_early or runner_was_killed or stop_now or leaves_the_conversation or sends_it_back_then_agrees
test-agents-user: setup ## some of them as an ordinary user, started by root
	$(ALONE) scripts/as-ordinary-user $(PYTEST) -p no:cacheprovider -n $(or $(WORKERS),auto) -m real_agent $(USER_TESTS) -k "$(USER_CHOSEN)"

agents-newest: setup ## does a newer release of an agent program break something?
	@scripts/test-newest-agents

test-fast: setup ## the suite without its long tail, in some minutes
	$(PYTEST) -m "not slow and not real_agent"

test-newest: setup ## the suite on the newest Python of this machine, and how much of the code it covers
	@scripts/test-newest

check: lint types imports test ## what CI runs

lint: setup
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check

fix: setup ## let ruff fix what it can
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

types: setup
	$(PYTHON) -m mypy
	@scripts/check-scripts

imports: setup
	$(PYTHON) .venv/bin/lint-imports

packages: setup ## build wheel and sdist, and install the wheel with and without extras
	$(PYTHON) -m proof.packages

# BENCH="--quick", or the names of some, or "--report FILE" for a page with plots.
bench: setup ## the benchmarks, side by side with the alternatives
	env PYTHONDONTWRITEBYTECODE= PYTHONPATH=. $(PYTHON) bench/run.py $(BENCH)

# What happens follows from the seed; where nobody may mount, no disk is filled.
SEED ?= 1
MINUTES ?= 10
chaos: setup ## everything that can go wrong, all at once: make chaos SEED=1 MINUTES=10
	$(PYTHON) -m proof.chaos --seed $(SEED) --minutes $(MINUTES)

# CHEATS="--family tests", or "--room plain", or "--case NAME --keep" to look at the scratch folder.
cheats: setup ## agents that cheat: how many are believed, family by family
	$(PYTHON) -m proof.cheats $(CHEATS)

# ESCAPES="--family network", or "--case NAME --alone"; root plays all again as an ordinary user.
escapes: setup ## harmless tries to get out of the box of an agent: none may
	$(PYTHON) -m proof.escapes $(ESCAPES)

# HONEST="--group work", or "--case NAME --keep".
honest: setup ## agents that do their work in projects of many shapes: all must be verified
	@$(PYTHON) -m proof.honest --install
	$(PYTHON) -m proof.honest $(HONEST)

# PROVE="--family luck", or "--case NAME --keep".
prove: setup ## right and wrong work that plain checks cannot tell apart: what --prove says of it
	$(PYTHON) -m proof.prove $(PROVE)

compare: setup ## untildone beside other loop tools, with the same agents: make compare REPORT=compare.md
	@$(PYTHON) -m proof.compare --install
	@$(ALONE) $(PYTHON) -m proof.compare $(if $(REPORT),--report $(REPORT))

fuzz: setup ## hostile input for everything that reads: make fuzz MINUTES=5
	$(PYTHON) -m proof.fuzz --minutes $(MINUTES)

newcomer: setup ## a fresh clone, an empty home, and every command of the documents
	@$(PYTHON) -m proof.newcomer

agents: ## install the real agent programs, outside this folder
	@scripts/install-agents

clean: ## remove what the targets above made here
	rm -rf .venv .venv-newest .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
