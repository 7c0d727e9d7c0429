# Where perf_event and ptrace are refused, timers sample and the loader brings the engine in; a static program has neither,
# and that is said.
# (leak checks need ptrace)
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
programs=$(dirname "$PROGRAM")/tests/programs
test -x "$programs/phases_static" && test -e "$(dirname "$PROGRAM")/src/count/engine/libroofline-engine.so" ||
    { echo "no static program or no engine was built"; exit 77; }
"$programs/contained" true || { echo "no seccomp here"; exit 77; }
"$programs/contained" roofline record -q --traffic none -o p.json -- "$programs/phases" 64 2 >/dev/null || test $? = 3
grep -o '"sampling by perf_event is refused ([^)]*) by a seccomp filter' p.json
tr -d ' \n' <p.json | grep -o '"op":"mul","isa":"scalar","count":{"value":10485760' | sort -u
"$programs/contained" roofline record -q --traffic none -o p.json -- "$programs/phases_static" 8 1 >/dev/null || test $? = 3
grep -o 'a static one where ptrace is refused, as in containers' p.json | sort -u
