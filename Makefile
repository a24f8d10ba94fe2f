# Targets for a newcomer. Each sets up .venv by itself; a second run installs nothing.
PORT ?= 8000
VAR ?= var
FUZZ ?= 100
GOLDEN ?= tests/parity/golden
PYTHON ?= python3
BASE ?= HEAD
# GPU=1 installs the builds for one by NVIDIA.
KIND := $(if $(GPU),gpu,cpu)
BIN := .venv/bin

.PHONY: serve test test-models test-cluster quick live readme console processors fuzz chaos chaos-wide lint parity bench bench-all train pack locks clean

serve: .venv/serve
	@exec $(BIN)/python -m service --port $(PORT) --var "$(VAR)"

# A dozen services start, and would all compile the same files.
TESTS := test test-models test-cluster live readme console processors
$(TESTS): export PYTHONDONTWRITEBYTECODE =
# Two workers share the cores: threads that spin while they wait would take the cores from each other.
$(TESTS): export OMP_WAIT_POLICY = PASSIVE
test test-models test-cluster: export OMP_NUM_THREADS = 1

# What runs in this process, on toys; tests/tiers.py says what belongs to which of the three.
test: .venv/dev
	$(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder --tier=process

# Shipped checkpoints, parity, trainings
test-models: .venv/dev
	$(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder --tier=models

# Real Ray, kills, launched processes, deployment tools, hostile inputs
test-cluster: .venv/dev
	@deploy/prometheus/install.sh
	$(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder --tier=cluster

quick: .venv/dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/python -m tests.quick $(BASE)

live: .venv/dev
	@deploy/prometheus/install.sh
	$(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder -m "not alone" tests/live
	$(BIN)/python -m pytest -m alone tests/live

# The commands of the pages, by a newcomer.
readme: .venv/dev
	$(BIN)/python -m pytest tests/readme

# The console's pages in Chromium, which is installed where it may be.
console: .venv/dev
	@tests/console/install.sh
	$(BIN)/python -m pytest --numprocesses 2 --dist load tests/console

# Tests of what is computed, with the kernels of older processors.
COMPUTED := tests/models/test_device.py tests/models/scope/test_judge.py tests/models/*/test_system.py tests/systems/test_system.py
processors: .venv/dev
	ATEN_CPU_CAPABILITY=avx2 OPENBLAS_CORETYPE=Haswell $(BIN)/python -m pytest --numprocesses 2 $(COMPUTED)
	ATEN_CPU_CAPABILITY=default $(BIN)/python -m pytest --numprocesses 2 $(COMPUTED)

fuzz: .venv/dev
	nice $(BIN)/python -m pytest tests/fuzz --fuzz $(FUZZ)

chaos: .venv/dev
	@tests/chaos/install.sh
	$(BIN)/python -m tests.chaos

# It listens on every address, so it runs in a separate network without other processes. It needs root.
chaos-wide: .venv/dev
	@tests/chaos/install.sh
	unshare --net sh -c 'ip link set lo up && exec $(BIN)/python -m tests.chaos --wide'

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.shape --lint

parity: .venv/dev
	$(BIN)/python -m pytest tests/parity --golden $(GOLDEN)

bench: .venv/dev
	$(BIN)/python -m tests.bench

# What takes hours, with 10,000 edits and a million triples, too
bench-all: .venv/dev
	$(BIN)/python -m tests.bench all

# Freed memory stays in the process: otherwise it would be requested again at each step.
train: KEEP_MEMORY = OMP_WAIT_POLICY=PASSIVE MALLOC_ARENA_MAX=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=17179869184
train: .venv/dev
	nice $(BIN)/python -m models.training nkb
	nice $(BIN)/python -m models.training kbert
	@models/training/scope/install.sh
	$(if $(SETS),OMP_WAIT_POLICY=PASSIVE nice $(BIN)/python -m models.training scope --sets $(SETS),@echo "the judge of the scope is left out: it needs SETS=folder (models/training/scope/README.md)")
	nice $(BIN)/python -m models.training own-question
	$(if $(SETS),nice $(BIN)/python -m models.training kbert-unseen --sets $(SETS),@echo "the scale of new relations is left out: it needs SETS=folder (models/training/kbert/README.md)")
	$(KEEP_MEMORY) nice $(BIN)/python -m models.training backpack
	$(KEEP_MEMORY) nice $(BIN)/python -m models.training relational
	$(KEEP_MEMORY) nice $(BIN)/python -m models.training reading
	$(KEEP_MEMORY) nice $(BIN)/python -m models.training ernie-doc
	$(KEEP_MEMORY) nice $(BIN)/python -m models.training thu-ernie

pack: .venv/dev
	$(BIN)/python -m models.training.packs --facts $(or $(FACTS),$(error make pack needs FACTS=folder, as models/packs/world/README.md says))

clean:
	rm -rf .venv build *.egg-info

# The versions and hashes of all packages; deploy/locks/README.md says how they are made.
.venv/serve .venv/dev: .venv/%: pyproject.toml deploy/install.py deploy/locks/%-$(KIND).txt
	@$(PYTHON) deploy/install.py $* $(KIND)

locks:
	deploy/locks/make.sh
