#!/bin/sh
# Each public header compiles alone, as C11 and as C++; each module header compiles alone as C17.
set -u
cd "$1" || exit 2
command -v "${CXX:-c++}" >/dev/null 2>&1 || { echo "skipped: no C++ compiler (g++) is installed"; exit 77; }
bad=0
for header in include/roofline/*.h; do
    [ -e "$header" ] || continue
    for lang in "${CC:-cc} -x c -std=c11" "${CXX:-c++} -x c++ -std=c++11"; do
        # shellcheck disable=SC2086
        $lang -Wall -Wextra -Werror -pedantic -Iinclude -fsyntax-only "$header" || bad=1
    done
done
list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
find src -name '*.h' >"$list"
while read -r header; do
    ${CC:-cc} -x c -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -Iinclude -Isrc -fsyntax-only "$header" || bad=1
done <"$list"
exit $bad
