#!/bin/sh
# Usage: installed.sh SOURCE BUILD
# What `make install DESTDIR=…` lays down is complete: a program builds against it with pkg-config alone, links the
# shared library, and runs; so does one with marked regions, linked either way; the program, its pages and its completion are there.
set -eu
source=$1
build=$2
root=$(mktemp -d) || exit 2
trap 'rm -rf "$root"' EXIT
DESTDIR="$root" cmake --install "$build" >/dev/null
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
pc=$(find "$root" -name roofline.pc)
libdir=$(dirname "$(dirname "$pc")")
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$root$prefix" --cflags --libs roofline)
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/embed.c" $flags -o "$root/embed"
LD_LIBRARY_PATH=$libdir sh "$source/tests/install/embed.sh" "$root/embed" "$source/tests/fuzz/seeds/machine/small.json"
region() {
    PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --define-variable=prefix="$root$prefix" "$@" roofline-region
}
printf '#include <roofline/region.h>\nint main(void) { roofline_region_begin("r"); roofline_region_end("r"); return 0; }\n' \
    >"$root/region.c"
# shellcheck disable=SC2046
${CC:-cc} "$root/region.c" $(region --cflags --libs) -Wl,-rpath,"$(region --variable=libdir)" -o "$root/region" && "$root/region"
# shellcheck disable=SC2046
${CC:-cc} "$root/region.c" $(region --cflags) "$libdir/libroofline-region.a" -pthread -o "$root/region" && "$root/region"
"$root$prefix/bin/roofline" --version | grep -q '^roofline [0-9]'
for page in "$source"/docs/man/*.1; do
    [ -f "$root$prefix/share/man/man1/$(basename "$page")" ] || { echo "$(basename "$page") is not installed"; exit 1; }
done
[ -f "$root$prefix/share/bash-completion/completions/roofline" ]
[ -f "$root$prefix/share/roofline/schema/machine.schema.json" ]
# The program finds its objects where libraries go, be that folder given by its full path: seen from itself, when all of it
# was moved, and at that path, when only the program was.
mkdir -p "$root/far/lib/roofline" "$root/near/bin" "$root/other/place/bin"
touch "$root/far/lib/roofline/object.so"
printf '#include "cli/objects.h"\n#include <stdio.h>\nint main(int n, char **v) { char *p = n > 1 ? rl_object_path(v[1]) : NULL;\nputs(p ? p : "none"); return 0; }\n' >"$root/find.c"
find_object() {
    ${CC:-cc} -std=gnu17 -I "$source/src" -I "$source/include" -DRL_LIBDIR_FROM_BINDIR='"../../far/lib"' "$@" "$source/src/cli/objects.c" \
        "$root/find.c" -o "$program" && "$program" object.so
}
where=$(realpath "$root/far/lib/roofline/object.so")
program=$root/near/bin/find
[ "$(find_object)" = "$where" ] || { echo "objects are not found from the program's own folder"; exit 1; }
program=$root/other/place/bin/find
[ "$(find_object)" = none ] || { echo "objects are found where there are none"; exit 1; }
[ "$(find_object -DRL_LIBDIR="\"$root/far/lib\"")" = "$where" ] || { echo "objects are not found at their full path"; exit 1; }
