#!/bin/sh
# Debian's libfaketime, which moves a clock, where it is missing and we may install it. Where that is not possible
# nothing happens, and the report says that the fault was not done.
set -eu
if find /usr/lib -name 'libfaketime.so*' 2> /dev/null | grep -q .; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "libfaketime is not installed: the clock will not be moved. As root: apt-get install libfaketime" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update --quiet --quiet &&
    apt-get install --quiet --quiet --yes --no-install-recommends libfaketime > /dev/null; }; then
    echo "libfaketime could not be installed: the clock will not be moved." >&2
fi
