#!/bin/sh
# Install Prometheus, promtool and Alertmanager from Debian's packages, if they are missing and may be installed; tests/deploy
# runs them. Nothing is started. If that is not possible, this does nothing, and those tests say why they were skipped.
set -eu
if command -v promtool > /dev/null && command -v prometheus > /dev/null && command -v amtool > /dev/null; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "Prometheus is not installed: tests/deploy will skip what needs it. As root: apt-get install prometheus prometheus-alertmanager" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# Debian starts a service that it installs, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
if ! { apt-get update --quiet --quiet &&
    apt-get install --quiet --quiet --yes --no-install-recommends prometheus prometheus-alertmanager > /dev/null; }; then
    echo "Prometheus could not be installed: tests/deploy will skip what needs it." >&2
fi
