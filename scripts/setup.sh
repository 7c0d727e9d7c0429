#!/bin/sh
# Usage: setup.sh GROUP…
# Makes sure that the Debian packages of these groups (scripts/packages.txt) are there: installs the missing
# ones when run as root, otherwise prints the one line that does and fails.
set -eu
list=$(dirname "$0")/packages.txt
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; the libraries needed are the ones named in scripts/packages.txt" >&2
    exit 0
fi
missing=
for group in "$@"; do
    for package in $(awk -v group="$group" '$1 == group { print $2 }' "$list"); do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -ne 0 ]; then
    echo "setup: some packages are missing; install them with" >&2
    echo "    sudo $line" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && $line; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: installing failed; the line was: $line" >&2
    exit 1
fi
