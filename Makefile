# Two commands matter: `make run` starts the app, `make test` runs every test.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8501
BIN := .venv/bin

.PHONY: run test lint format bench screenshots schema

.venv/run.stamp: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Triptych needs Python 3.11 or newer." if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements.txt requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ .venv/run.stamp

run: .venv/run.stamp
	$(BIN)/streamlit run app.py --server.address=$(HOST) --server.port=$(PORT) --server.headless=true

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp
	$(BIN)/python -m bench

screenshots: .venv/dev.stamp
	$(BIN)/python -m bench.screenshots

schema: .venv/run.stamp
	$(BIN)/python -m triptych schema
