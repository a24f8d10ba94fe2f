#!/usr/bin/env bash
# Resolves pyproject.toml into the locks, with the newest versions that fit. `uv` makes them (pip install uv).
set -euo pipefail
cd "$(dirname "$0")/../.."

# Packages of nothing that is imported: the wheel of the encoder names the first for code that is not used.
unused=(sentence-transformers scikit-learn scipy joblib threadpoolctl narwhals)
# torch without CUDA comes from another index, and needs none of these.
cuda=(torch triton cuda-bindings cuda-pathfinder cuda-toolkit)

resolve() {  # NAME, then arguments of uv
    uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
        --no-header --no-annotate --output-file "deploy/locks/$1.txt" "${@:2}" "${unused[@]/#/--no-emit-package=}"
}

mapfile -t nvidia < <(uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --no-header --no-annotate \
    --extra serve --extra gpu | grep -o '^nvidia-[a-z0-9-]*')
cuda+=("${nvidia[@]}")
all=(--extra serve --extra dev --extra bench --extra build)
resolve dev-gpu "${all[@]}" --extra gpu
fit=(--constraint deploy/locks/dev-gpu.txt)  # a package has one version in all four
resolve serve-gpu --extra serve --extra gpu "${fit[@]}"
resolve dev-cpu "${all[@]}" --extra cpu "${fit[@]}" "${cuda[@]/#/--no-emit-package=}"
resolve serve-cpu --extra serve --extra cpu "${fit[@]}" "${cuda[@]/#/--no-emit-package=}"
