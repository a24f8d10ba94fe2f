#!/usr/bin/env bash
# limits 5.8, sliding window counter: `reset_time` says when one more call fits, whatever the cost that was refused.
# Most would use it as the Retry-After of a refused batch. Seen: who waits that long with a batch is refused again, and
# with the current window full it names a time at which not even one call fits.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "limits==5.8.0"
"$folder/venv/bin/python" - <<'PY'
import time
from importlib.metadata import version

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

print("limits", version("limits"))
limit, window = parse("10/2 second"), SlidingWindowCounterRateLimiter(MemoryStorage())
time.sleep(2 - time.time() % 2 + 0.05)  # begin with a window
assert window.hit(limit, "caller", cost=10)
refusals, start = 0, time.time()
while not window.hit(limit, "caller", cost=10):
    refusals += 1
    time.sleep(max(0.05, window.get_window_stats(limit, "caller").reset_time - time.time()))
print(f"a batch of ten, sent again at each reset_time: refused {refusals} times in {time.time() - start:.1f} s")
assert refusals > 2, "reset_time is of the whole cost now"
PY
