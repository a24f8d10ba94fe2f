#!/bin/sh
# What `make console` needs beside Python's packages: Chromium with its driver, from Debian's packages, and axe-core
# (MPL-2.0), from the npm registry. What is there is left alone, so later runs need no network. What is missing and cannot be
# installed is named, and this fails.
set -eu
version=4.14.1
sha256=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
folder="$(dirname "$0")/../../build/console"
axe="$folder/axe.min.js"

has_browser() {
    command -v chromedriver > /dev/null &&
        { command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null
}
is_axe() { echo "$sha256  $axe" | sha256sum --check --status 2> /dev/null; }

if ! has_browser && [ "$(id -u)" -eq 0 ] && command -v apt-get > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update --quiet --quiet &&
        apt-get install --quiet --quiet --yes --no-install-recommends chromium chromium-driver > /dev/null; } || true
fi
if ! has_browser; then
    echo "There is no browser: install Chromium and its driver (as root: apt-get install chromium chromium-driver)" >&2
    exit 1
fi
if ! is_axe; then
    mkdir -p "$folder"
    if ! { npm pack --silent --pack-destination "$folder" "axe-core@$version" &&
        tar -xzOf "$folder/axe-core-$version.tgz" package/axe.min.js > "$axe"; } > /dev/null; then
        echo "axe-core is missing: install npm, which loads axe-core $version, or put its axe.min.js to $axe" >&2
        exit 1
    fi
    rm "$folder/axe-core-$version.tgz"
fi
if ! is_axe; then
    echo "$axe is not that of axe-core $version: its SHA-256 is not $sha256. Delete it, and try again." >&2
    exit 1
fi
