# Set-up and every job of the project. Needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
export PYTHONHASHSEED := 0
# Jupyter's own settings of the user must not change what the notebooks print.
export JUPYTER_PLATFORM_DIRS := 1
# What is run here is no open notebook: lessons show their static face.
unexport JPY_SESSION_NAME

.PHONY: help report test test-long lint types unit nbval bench lab notebooks sample assignment slides site clean
.PHONY: golden test-browser chromium fuzz ready coverage

help:
	@echo "make report   set up, run both report notebooks on the sample corpora, say where they are"
	@echo "make test     set up, lint, type-check, run all tests and compare all notebooks"
	@echo "make test-browser  JupyterLab and the website in a real browser (Chromium, found or installed)"
	@echo "make coverage  branch coverage of the package by the unit tests"
	@echo "make lint     ruff (code and notebooks) and mypy"
	@echo "make bench    speed ratios against peers"
	@echo "make test-long  lessons and reports on the real corpora, some minutes"
	@echo "make fuzz     broken files for every reader, 5 minutes each; READERS=\"pairs csv\" SECONDS=60"
	@echo "make lab      JupyterLab on notebooks/00_start_here.ipynb"
	@echo "make notebooks  execute all notebooks in place"
	@echo "make golden   record the golden values of the sample data again"
	@echo "make sample   generate data/sample again"
	@echo "make assignment  lessons for nbgrader, with and without solutions, in build/assignment"
	@echo "make slides   a slide deck for each lesson, in build/slides"
	@echo "make site     the website: build/site/html/index.html"
	@echo "make clean    remove what the other jobs made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	@echo "installing dialogeval into $(VENV) (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# All that the tests need in one call of pip: five calls resolve, and build the package, five times.
ready: pyproject.toml | $(BIN)/python
	@echo "installing dialogeval and what all tests need into $(VENV) (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,site,browser]'
	@touch $(VENV)/run.stamp $(VENV)/test.stamp $(VENV)/site.stamp $(VENV)/browser.stamp

$(VENV)/test.stamp: $(VENV)/run.stamp
	@echo "installing the test tools into $(VENV) (a minute, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/lab.stamp: $(VENV)/run.stamp
	@echo "installing JupyterLab into $(VENV) (a minute, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lab]'
	@touch $@

$(VENV)/site.stamp: $(VENV)/run.stamp
	@echo "installing Jupyter Book and reveal.js into $(VENV) (a minute, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	@touch $@

$(VENV)/browser.stamp: $(VENV)/test.stamp $(VENV)/site.stamp
	@echo "installing Playwright into $(VENV) (seconds, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	@touch $@

$(VENV)/fuzz.stamp: $(VENV)/run.stamp
	@echo "installing atheris into $(VENV) (seconds, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=atheris --editable '.[fuzz]' \
		|| { echo "make fuzz: no wheel of atheris 3 for $$($(BIN)/python -V) on this system" >&2; exit 1; }
	@touch $@

$(VENV)/coverage.stamp: $(VENV)/run.stamp
	@echo "installing pytest-cov into $(VENV) (seconds, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pytest-cov>=7.0'
	@touch $@

report: $(VENV)/run.stamp
	@echo "state tracking, CrossWOZ-en sample:"
	@$(BIN)/dialogeval report state_tracking --out reports
	@echo "generation, MultiWOZ sample:"
	@$(BIN)/dialogeval report generation --out reports

test: lint unit nbval

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/test.stamp
	$(BIN)/pytest -n 2 --dist worksteal

# Processes that tests start are measured as well: commands, and kernels.
coverage: export COVERAGE_FILE := $(CURDIR)/build/coverage/data
coverage: $(VENV)/test.stamp $(VENV)/coverage.stamp
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/pytest -n 2 --dist worksteal --cov dialogeval --cov-config tests/coverage.ini

nbval: $(VENV)/test.stamp
	$(BIN)/pytest -n 2 --dist loadfile -p no:doctest -c notebooks/nbval.ini --rootdir notebooks --nbval $(NOTEBOOKS)

chromium:
	@tests/browser/chromium.sh > /dev/null

# One process for JupyterLab, one for the website; screenshots to look at: build/screenshots.
test-browser: chromium $(VENV)/browser.stamp site
	@rm -rf build/screenshots
	CHROMIUM="$$(tests/browser/chromium.sh)" $(BIN)/pytest -n 2 --dist loadfile tests/browser

test-long: $(VENV)/test.stamp
	$(BIN)/pytest -n 2 tests/long

SECONDS ?= 300

fuzz: $(VENV)/fuzz.stamp
	@PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(READERS)

bench: $(VENV)/test.stamp
	$(BIN)/python -m bench

lab: $(VENV)/lab.stamp
	$(BIN)/jupyter lab notebooks/00_start_here.ipynb

golden: $(VENV)/test.stamp
	PYTHONPATH=tests $(BIN)/python -m golden.recording

notebooks: $(VENV)/test.stamp
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace \
		--ExecutePreprocessor.record_timing=False $(NOTEBOOKS)

sample: $(VENV)/run.stamp
	$(BIN)/python -B data/generator/make.py --out data/sample
	$(BIN)/python -B data/generator/baselines.py --out data/sample

assignment: $(VENV)/run.stamp
	@PYTHONPATH=docs $(BIN)/python -m course assignment build/assignment

slides: $(VENV)/site.stamp
	@PYTHONPATH=docs $(BIN)/python -m course slides build/slides

# Built anew each time, a warning is an error: a page that is not rebuilt could hide a broken link.
site: $(VENV)/site.stamp
	@rm -rf build/site
	@PYTHONPATH=docs $(BIN)/python -m course site build/site/source
	@$(BIN)/jupyter-book config sphinx build/site/source
	@sed -i.bak "s/'sphinx_thebe', //" build/site/source/conf.py  # it runs cells on a server, by a script from a CDN
	@PYTHONPATH=build/site/source/_ext $(BIN)/sphinx-build -q -W --keep-going -b html \
		-d build/site/doctrees build/site/source build/site/html
	@echo "website: build/site/html/index.html"

clean:
	rm -rf $(VENV) reports build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
