# The menu. `make` alone prints it.
STUDY ?= lab
DOCUMENTS ?=
FILINGS ?=
JOBS ?= all
PYTHON3 ?= python3

# An active conda environment that can import this repository is used as it is; else .venv is made from the lock.
CONDA_PYTHON := $(if $(CONDA_PREFIX),$(shell "$(CONDA_PREFIX)/bin/python" -c "import papermill, snakemake, torch, lib.core.paths, pathlib, sys; pathlib.Path(lib.core.paths.__file__).parents[1].samefile('.') and print(sys.executable)" 2>/dev/null))
PYTHON := $(or $(CONDA_PYTHON),$(CURDIR)/.venv/bin/python)
READY := $(if $(CONDA_PYTHON),,.venv/ready)
export PATH := $(dir $(PYTHON)):$(PATH)

.PHONY: help study figures lab test bench clean environment
.DEFAULT_GOAL := help

help:  ## this menu
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1|/' | column -t -s '|'
	@echo
	@echo "  STUDY=name      one of: $(basename $(notdir $(wildcard studies/*.yaml))); now $(STUDY)"
	@echo "  DOCUMENTS=path  a folder of your own .md and .txt files, with STUDY=documents"
	@echo "  FILINGS=path    a folder of 10-K filings (.html) and papers (.md), with STUDY=tablequest"
	@echo "  JOBS=n          processor cores to use; now $(JOBS)"

study: $(READY)  ## run what is not done of STUDY, print its Table 2 and where everything lies
	@STUDY_PARENT=$$PPID exec "$(PYTHON)" -m lib.run.study "$(STUDY)" --documents "$(or $(DOCUMENTS),$(FILINGS))" --jobs "$(JOBS)"

figures: $(READY)  ## make the tables and figures of STUDY again, and nothing else
	@STUDY_PARENT=$$PPID exec "$(PYTHON)" -m lib.run.study "$(STUDY)" --documents "$(or $(DOCUMENTS),$(FILINGS))" --jobs "$(JOBS)" --figures

lab: $(READY)  ## open the notebooks in JupyterLab
	@"$(PYTHON)" -m jupyterlab notebooks

test: $(READY)  ## check the style, run all tests, the smoke study among them
	@"$(PYTHON)" -m ruff check lib tests benchmarks
	@"$(PYTHON)" -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

bench: $(READY)  ## measure what benchmarks/README.md states, and write it there
	@"$(PYTHON)" -m benchmarks

clean:  ## remove what STUDY has written: data/STUDY, but for a person's labels, and figures/STUDY
	@case "$(STUDY)" in */*|.*|"") false;; *) test -e "studies/$(STUDY).yaml";; esac || { echo "make clean: no study is called '$(STUDY)'"; exit 2; }
	if test -d "$${STUDY_ROOT:-.}/data/$(STUDY)"; then find "$${STUDY_ROOT:-.}/data/$(STUDY)" -mindepth 1 -maxdepth 1 ! -name human -exec rm -rf {} +; fi
	rm -rf "$${STUDY_ROOT:-.}/figures/$(STUDY)"

environment: $(READY)  ## only install

# Made anew whenever the lock or the dependencies change; the stamp comes last, so an interrupted install is redone.
.venv/ready: requirements.lock pyproject.toml
	@"$(PYTHON3)" -c "import sys; sys.version_info >= (3, 11) or sys.exit('python 3.11 or newer is needed, $(PYTHON3) is ' + sys.version.split()[0] + ': install it, or name one with make PYTHON3=python3.11')"
	@echo "installing into .venv (once, some minutes) ..."
	@rm -f .venv/ready
	@"$(PYTHON3)" -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch .venv/ready
