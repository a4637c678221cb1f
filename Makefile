# Two commands matter: `make run` starts the app, `make test` runs the tests (CONTRIBUTING.md says which it leaves out).
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8501
BIN := .venv/bin
WORKBENCH := components/workbench
TESTS = $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder
INSTALL_TESTS := tests/deploy/test_installed.py tests/deploy/test_container.py

.PHONY: run test test-long test-deploy lint lint-workbench format bench bench-peers screenshots schema reference site check-links translations lock audit sbom committed release test-install

# Without pip, .venv is what a failed attempt left behind: it is built again.
define VENV
@$(PYTHON) -c 'import sys; sys.exit("Triptych needs Python 3.11 or newer." if sys.version_info < (3, 11) else 0)'
@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || \
  { echo "Cannot create .venv. On Debian and Ubuntu: apt install python3-venv, then run make again." >&2; exit 1; }
@echo "Installing the packages of $(1). The first time this takes some minutes."
@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --require-hashes -r $(1)
endef

.venv/run.stamp: requirements.lock
	$(call VENV,$<)
	@touch $@

.venv/dev.stamp: requirements-dev.lock
	$(call VENV,$<)
	@touch $@ .venv/run.stamp

run: .venv/run.stamp
	$(BIN)/streamlit run app.py --server.address=$(HOST) --server.port=$(PORT) --server.headless=true

# what runs in minutes. Three workers: while a test waits for its browser another uses the processor. One thread each
# for matrices, as in the app: the threads of three workers would use the processor to wait for each other
test test-long: export OPENBLAS_NUM_THREADS = 1
test: .venv/dev.stamp
	$(TESTS) -m "not long and not slow and not deploy"

# what takes longer: most of what runs in a browser, over many cases, or after a kill
test-long: .venv/dev.stamp
	$(TESTS) -m "long and not slow and not deploy"

# the built wheel in an empty environment: installed from the package index, started, uninstalled
test-install: .venv/dev.stamp
	$(BIN)/python -m pytest -n 0 -m deploy $(INSTALL_TESTS)

# proxy, two app processes and PostgreSQL on this computer; needs Debian's nginx-light and postgresql
test-deploy: .venv/dev.stamp
	$(BIN)/python -m pytest -n 0 -m deploy tests/deploy $(addprefix --ignore=,$(INSTALL_TESTS))

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy app.py pages components triptych bench tests
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory lint-workbench; \
	else echo "Not checked, as npm is missing: the types of the JavaScript in $(WORKBENCH)."; fi

$(WORKBENCH)/node_modules/.stamp: $(WORKBENCH)/package-lock.json
	cd $(WORKBENCH) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

lint-workbench: $(WORKBENCH)/node_modules/.stamp
	$(WORKBENCH)/node_modules/.bin/tsc -p $(WORKBENCH)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp
	$(BIN)/python -m bench

# installs Potato and Label Studio into environments of their own in the user's cache; about half an hour
bench-peers: .venv/dev.stamp
	$(BIN)/python -m bench.campaigns.peers --write-docs

screenshots: .venv/dev.stamp
	$(BIN)/python -m bench.screenshots

schema: .venv/run.stamp
	$(BIN)/python -m triptych rubric schema

# the pages of docs/ that are written from the code, after a change of commands, rubrics, exports or the HTTP interface
reference: .venv/dev.stamp
	PYTHONPATH=.:tests $(BIN)/python -m helpers.reference_pages

# docs/ as a site in dist/site/, by MkDocs in an environment of its own
dist/site-venv.stamp: docs/site/requirements.lock
	$(PYTHON) -m venv --clear dist/site-venv
	dist/site-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

site: dist/site-venv.stamp
	NO_MKDOCS_2_WARNING=1 dist/site-venv/bin/python -m mkdocs build --quiet --strict --clean -f docs/site/mkdocs.yml
	@echo "To read it: python3 -m http.server --directory dist/site"

# asks the external addresses that the documents name; tests hold the internal ones
check-links: .venv/dev.stamp
	$(BIN)/python -m bench.links

# after a change of what annotators read: the texts that catalogues must have
translations: .venv/dev.stamp
	PYTHONPATH=.:tests $(BIN)/python -m helpers.translations

# after a change of a file of requirements; UPGRADE=--upgrade also renews what these packages need
COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-header --no-build --emit-build-options $(UPGRADE)

lock: .venv/dev.stamp
	$(COMPILE) requirements.txt --output-file requirements.lock
	$(COMPILE) requirements-dev.txt --output-file requirements-dev.lock
	$(COMPILE) pyproject.toml --extra postgres --output-file requirements-postgres.lock
	$(COMPILE) requirements-build.txt --constraints requirements-dev.lock --output-file requirements-build.lock
	$(COMPILE) docs/site/requirements.txt --constraints requirements-dev.lock --output-file docs/site/requirements.lock

audit: .venv/dev.stamp
	$(BIN)/python -m bench.packages audit

# the software bill of materials of a release, in CycloneDX
sbom: .venv/run.stamp
	@$(BIN)/python -m bench.packages sbom

# the release would contain what lies next to the code: a rubric of one's own with right answers, a database
committed:
	@changes=$$(git status --porcelain) && test -z "$$changes" || \
	  { echo "Commit these files or move them away first:" "$$changes" >&2; exit 1; }

# wheel, sdist, bill of materials and their checksums in dist/
release: committed .venv/dev.stamp
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python -m bench.packages sbom
	cd dist && sha256sum -- * > SHA256SUMS && cat SHA256SUMS
