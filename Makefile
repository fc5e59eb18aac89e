# Two commands matter: `make run` and `make test`. Both work on a fresh machine with Python 3.11 and make.
PORT ?= 8000
PYTHON ?= python3
BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
RANDOM_KEY := $(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))'

.PHONY: run test test-long test-embedded test-matrix chaos attack oracle fuzz bench lint format lock clean screenshots

run: export DEMO ?= true
run: .venv/runs
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) seed_demo
	@exec $(MANAGE) run_all --port $(PORT)

test: .venv/tests
	@$(BIN)/python -m tests.servers --part quick

test-long: .venv/tests
	@$(BIN)/python -m tests.servers --part long

test-embedded: .venv/tests
	@$(BIN)/python -m tests.servers --modes embedded --part quick

# Other versions of Python, Django and the servers: `make test-matrix ONLY=python3.14`. It takes root.
test-matrix: .venv/tests
	@$(BIN)/python -m tests.matrix --only "$(ONLY)"

SECONDS ?= 60
SEED ?= 1
chaos: .venv/tests
	@$(BIN)/python -m tests.chaos --seconds $(SECONDS) --seed $(SEED) --mode both

screenshots: .venv/tests
	@$(BIN)/python -m tests.browser.screenshots
	@$(BIN)/python -m tests.browser.admin_screenshots

oracle: .venv/tests
	@$(BIN)/python -m tests.oracle
	@$(BIN)/python -m tests.golden check

ATTACK ?=
attack: .venv/tests
	@$(BIN)/python -m tests.attacks --only "$(ATTACK)"

CASES ?= 5000
fuzz: .venv/tests
	@$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED)

ROUNDS ?= 3
QUICK ?=
ONLY ?=
MORE ?=
bench: .venv/tests .venv-peers/installed
	@$(BIN)/python -m benchmarks --rounds $(ROUNDS) $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(MORE),--more)

lint: .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	PRODUCTION=true ALLOWED_HOSTS=punctual.example.com SECRET_KEY=$$($(RANDOM_KEY)) JWT_SIGNING_KEY=$$($(RANDOM_KEY)) SECRETS_KEY=$$($(RANDOM_KEY)) \
		$(MANAGE) check --deploy --fail-level WARNING
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) spectacular --validate --fail-on-warn --file /dev/null

format: .venv/tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/tests
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --upgrade requirements.in -o requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --upgrade requirements-dev.in -o requirements-dev.txt

clean:
	rm -rf .venv .venv-peers var

# The virtual environment, with what running needs (`runs`) and what testing needs besides (`tests`).
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Punctual needs Python 3.11 or later; $(PYTHON) is older. Try: make PYTHON=python3.11 …"; exit 1; }
	@deploy/make-venv.sh $(PYTHON)

.venv/runs: .venv/bin/python requirements.txt
	@echo "Installing what Punctual runs on …"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/tests: .venv/bin/python requirements-dev.txt
	@echo "Installing what the tests need …"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ .venv/runs

# What others are built on must not change what Punctual runs on: an environment of its own, for `bench` only.
.venv-peers/installed: benchmarks/peers/requirements.txt | .venv/bin/python
	@echo "Installing what Punctual is compared with …"
	@$(BIN)/python -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	@touch $@
