#!/bin/sh
# C sources follow .clang-format. `make format` mends what this reports.
set -u
cd "$1" || exit 2
command -v clang-format >/dev/null 2>&1 || { echo "skipped: clang-format is not installed"; exit 77; }
find src include tests examples -name '*.[ch]' 2>/dev/null | xargs clang-format --dry-run --Werror
