#!/usr/bin/env bash
# prometheus-client in multiprocess mode: a gauge without labels exists with the value 0 in every process that imports it.
# Most would expect `livemin` to be the lowest of the values that were set. Seen: one process sets 1, another only imports
# the module, and the page says 0; with a label, which is made by whoever sets it, the page says 1.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "prometheus-client==0.26.0"
mkdir "$folder/values"; export PROMETHEUS_MULTIPROC_DIR="$folder/values"
cat > "$folder/gauges.py" <<'PY'
from prometheus_client import Gauge

PLAIN = Gauge("plain", "without labels", multiprocess_mode="livemin")
LABELLED = Gauge("labelled", "with a label", ["part"], multiprocess_mode="livemin")
PY
cd "$folder"
venv/bin/python -c "import gauges; gauges.PLAIN.set(1); gauges.LABELLED.labels('a').set(1)"
venv/bin/python -c "import gauges"
venv/bin/python - <<'PY'
from importlib.metadata import version

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

registry = CollectorRegistry()
MultiProcessCollector(registry)
page = generate_latest(registry).decode()
print("prometheus-client", version("prometheus-client"), *[line for line in page.splitlines() if line[0] != "#"], sep="\n")
assert "plain 0.0" in page, "a gauge that nobody set is no longer written"
assert 'labelled{part="a"} 1.0' in page
PY
