# Each command sets up what it needs: on a fresh machine Python 3.11 (or newer) and make are enough.
.PHONY: demo data page test check pytest docs wheel bench clean

BIN := .venv/bin
READY := .venv/.ready
# The first that is new enough and can make environments (some systems package ensurepip apart).
PYTHON := $(firstword $(foreach python,python3.11 python3,\
    $(shell $(python) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(python))))
WHEEL := $(CURDIR)/build/wheel

demo: $(READY)
	$(BIN)/hecka demo

# What Dirty-MNIST is made of.  Where nobody hands out Ambiguous-MNIST any more, a surrogate is made from MNIST, in
# minutes, and every result that used it says so.
data: $(READY)
	$(BIN)/hecka data fetch mnist
	$(BIN)/hecka data fetch fashion-mnist
	$(BIN)/hecka data fetch ambiguous-mnist || $(BIN)/hecka data make-ambiguous

# The best row of the paper's first table, and a page on it.  BUDGET is the share of its work: 1 is all of it, 0.01 a
# few minutes.  The same command goes on where it was stopped.
ROW ?= dirty-mnist/ensemble-ood-he
BUDGET ?= 1
RUN ?= runs/page/$(ROW)-budget-$(BUDGET)
page: $(READY)
	$(BIN)/hecka train $(ROW) --budget $(BUDGET) --out $(RUN)
	$(BIN)/hecka evaluate $(RUN)
	$(BIN)/hecka report $(RUN) --out $(RUN)/report.html

test: check pytest wheel

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Unit tests, doctests and examples.
pytest: $(READY)
	$(BIN)/python -m pytest

# What documents promise: their code and the doctests run, and their links lead somewhere.
docs: $(READY)
	$(BIN)/python -m pytest tests/test_documents.py src

# What users install: built, unpacked, and used from another folder, where the source tree cannot stand in for it.
wheel: $(READY)
	rm -rf dist "$(WHEEL)"
	$(BIN)/python -m build --wheel --no-isolation
	$(BIN)/pip install --quiet --no-deps --target "$(WHEEL)" dist/hecka-*.whl
	cd / && PYTHONPATH="$(WHEEL)" "$(CURDIR)/$(BIN)/python" -P "$(CURDIR)/.ci/check_wheel.py" "$(WHEEL)" "$(CURDIR)/src"

bench: $(READY)
	$(BIN)/hecka bench

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installed again only when what is to be installed changes; the source itself is linked, not copied.
$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "hecka needs Python 3.11 or newer with venv; neither python3.11 nor python3 is that: install it, then run make again" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
