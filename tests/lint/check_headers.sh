#!/bin/sh
# Each public header compiles alone, as C11 and as C++; each module header compiles alone as C17.
set -u
cd "$1" || exit 2
bad=0
for header in include/roofline/*.h; do
    [ -e "$header" ] || continue
    for lang in "c -std=c11" "c++ -std=c++11"; do
        # shellcheck disable=SC2086
        ${CC:-cc} -x $lang -Wall -Wextra -Werror -pedantic -Iinclude -fsyntax-only "$header" || bad=1
    done
done
find src -name '*.h' > /tmp/rl_headers.$$
while read -r header; do
    ${CC:-cc} -x c -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -Iinclude -Isrc -fsyntax-only "$header" || bad=1
done < /tmp/rl_headers.$$
rm -f /tmp/rl_headers.$$
exit $bad
