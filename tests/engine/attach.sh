#!/bin/sh
# Attaching to a running program, and leaving it, must not change what it prints and how it ends.
# RLE_OPTIONS in the environment: more options of the engine, each with a comma behind it.
#   attach.sh ENGINE LAUNCHER COUNTS CASE PROGRAM [SCENARIO]
set -u
engine=$1 launcher=$2 counts=$3 case=$4 program=$5 scenario=${6:-spin}
work=$(mktemp -d /dev/shm/rl-engine.XXXXXX 2>/dev/null || mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
bad=0

complain() {
    echo "$@"
    bad=1
}

# start SECONDS [EINTR]: the program in the background, when it has begun.
start() {
    "$program" "$scenario" "$@" > "$work/out" 2> "$work/err" < /dev/null &
    pid=$! running=$!
    while ! grep -q ready "$work/err"; do sleep 0.01; done
    sleep 0.1
}

attach() {
    "$launcher" --attach "$engine" "${RLE_OPTIONS:-}${1:-}output=$work/r" $pid 2> "$work/message"
    status=$?
    if grep -q 'not permitted' "$work/message"; then
        echo "skipped: $(cat "$work/message")"
        exit 77
    fi
    return $status
}

detach() {
    "$launcher" --detach "$engine" $pid
}

# start_long: until `stop`, however slow the machine is.
start_long() {
    start 100
}

# stop STATUS: tell the program to end.
stop() {
    kill -TERM $pid
    end "$1"
}

# end STATUS: of the program, which prints that nothing was wrong.
end() {
    wait $pid
    ended=$?
    running=
    [ $ended -eq "$1" ] || complain "it ended with $ended, not $1"
    [ "$(cat "$work/out")" = "$scenario 0" ] || complain "printed: $(cat "$work/out" "$work/err")"
}

count() {
    "$counts" "$1" "/${program##*/}" > "$work/counts" || bad=1
}

value() {
    sed -n "s/^$1 //p" "$work/counts"
}

expect() {
    grep -Fxq "$1" "$work/counts" || complain "expected: $1; counted: $(grep "^${1%% *}" "$work/counts")"
}

# near A B: for code interrupted once at the beginning and once at the end.
near() {
    difference=$((${1:-0} - ${2:-0}))
    [ "${1:-0}" -gt 1000 ] && [ ${difference#-} -le "$3" ] || complain "not near: ${1:-nothing} ${2:-nothing}"
}

# The loop's seven instructions, a multiplication, an addition, a load and a store of two numbers.
check_ratio() {
    near "$(value 'mnemonic mulpd')" "$(value 'mnemonic addpd')" 1
    near $((2 * $(value 'mnemonic mulpd'))) "$(value 'mnemonic movapd')" 2
    rounds=$(value 'mnemonic mulpd')
    calls=$((rounds / 512))
    near "$(value 'function ratio_loop')" $((7 * rounds + 5 * calls)) 50
}

ratio() {
    start_long
    attach || complain "$(cat "$work/message")"
    sleep 0.3
    detach || bad=1
    count "$work/r.$pid.0"
    expect "state 4"
    expect "uncounted 6 1 1"
    expect "uncounted 7 1 0"
    check_ratio
    cp "$work/counts" "$work/before"
    sleep 0.3
    count "$work/r.$pid.0"
    cmp "$work/before" "$work/counts" || complain "it is still counted"
    stop 5
}

to_end() {
    start_long
    attach || complain "$(cat "$work/message")"
    sleep 0.3
    stop 5
    count "$work/r.$pid.0"
    expect "state 2"
    expect "status 5"
    check_ratio
}

# A second time, with another result, and twice at once, which is refused.
again() {
    scenario=threads
    start_long
    attach || complain "$(cat "$work/message")"
    attach && complain "attached twice"
    grep -q 'being counted already' "$work/message" || complain "$(cat "$work/message")"
    sleep 0.2
    detach || bad=1
    attach || complain "$(cat "$work/message")"
    sleep 0.3
    detach || bad=1
    stop 5
    for file in "$work/r.$pid.0" "$work/r.$pid.1"; do
        count "$file"
        expect "state 4"
        near "$(value 'mnemonic mulpd')" "$(value 'mnemonic addpd')" 4
    done
}

# The first time where no result can be written; then it works.
elsewhere() {
    start_long
    "$launcher" --attach "$engine" "output=$work/none/r" $pid 2> "$work/message" && complain "it was attached to"
    grep -q 'result file cannot be created' "$work/message" || complain "$(cat "$work/message")"
    attach || complain "$(cat "$work/message")"
    sleep 0.2
    detach || bad=1
    "$launcher" --attach "$engine" "output=$work/none/r" $pid 2> "$work/message" && complain "it was attached to"
    attach || complain "$(cat "$work/message")"
    sleep 0.2
    detach || bad=1
    stop 5
    for file in "$work/r.$pid.0" "$work/r.$pid.1"; do
        count "$file"
        check_ratio
    done
}

# While its only thread waits it is attached to and left; the thread finds out when it wakes.
idle() {
    scenario=idle
    start_long
    for result in 0 1 2; do
        attach || complain "$(cat "$work/message")"
        sleep 0.0$result
        detach || bad=1
    done
    attach || complain "$(cat "$work/message")"
    sleep 0.7 # it wakes
    detach || bad=1
    sleep 0.6 # and again
    stop 5
    counted=0
    for file in "$work/r.$pid".*; do
        count "$file"
        expect "state 4"
        counted=$((counted + $(value insns)))
    done
    [ -e "$work/r.$pid.1" ] && [ $counted -gt 10 ] || complain "only $counted instructions were counted"
}

refused() {
    reason=$scenario
    case $reason in
    gs) words="uses the gs segment" ;;
    seccomp) words="seccomp filter" ;;
    stopped) words="it is stopped" scenario=spin ;;
    started) words="counted since its start" scenario=spin program_env=1 ;;
    esac
    if [ "$reason" = started ]; then
        LD_PRELOAD=$engine ROOFLINE_ENGINE=output=$work/first "$program" spin 100 > "$work/out" 2> "$work/err" &
        pid=$! running=$!
        while ! grep -q ready "$work/err"; do sleep 0.01; done
    else
        start_long
    fi
    [ "$reason" = stopped ] && kill -STOP $pid
    attach && complain "it was attached to"
    grep -q "$words" "$work/message" || complain "the reason is: $(cat "$work/message")"
    [ "$reason" = stopped ] && kill -CONT $pid
    stop 5
}

# lines of the milliseconds of bursts
some_bursts() {
    i=0
    while [ $i -lt "$1" ]; do
        echo 10
        sleep 0.0$((i % 5))
        i=$((i + 1))
    done
}

bursts() {
    start_long
    some_bursts 30 | "$launcher" --bursts "$engine" "mode=mix,${RLE_OPTIONS:-}output=$work/r" $pid > "$work/answers"
    # of all, not of one: that would be an error
    grep 'not permitted' "$work/answers" && ! grep -q '^ok' "$work/answers" && { echo "skipped: tracing is not permitted"; exit 77; }
    stop 5
    [ "$(grep -c '^ok' "$work/answers")" -eq 30 ] || complain "bursts: $(sort "$work/answers" | uniq -c)"
    count "$work/r.$pid.0"
    expect "uncounted 6 1 1"
    [ "$(ls "$work" | grep -c '^r\.')" -eq 1 ] || complain "results of other processes: $(ls "$work")"
    [ "$scenario" != spin ] || near "$(value 'mnemonic mulpd')" "$(value 'mnemonic addpd')" 100
}

# A thread that does not stop is let go in the end, and stands in the way of later bursts no more.
unstoppable() {
    scenario=vfork
    start 8
    { echo 10; sleep 6; echo 10; sleep 6; } |
        "$launcher" --bursts "$engine" "mode=mix,${RLE_OPTIONS:-}output=$work/r" $pid > "$work/answers" &
    bursting=$!
    running="$pid $bursting"
    end 5
    running=$bursting
    wait $bursting
    running=
    grep -q 'does not stop' "$work/answers" || complain "the first burst: $(head -1 "$work/answers")"
    grep -q '^ok' "$work/answers" || complain "afterwards: $(cat "$work/answers")"
}

launcher_killed() {
    start 14 eintr
    for delay in 01 03 05 08 02 06 20 15; do
        yes 5 | "$launcher" --bursts "$engine" "mode=mix,${RLE_OPTIONS:-}output=$work/r" $pid > "$work/answers" &
        killed=$!
        running="$pid $killed"
        sleep 0.$delay
        kill -KILL $killed
        wait $killed 2> /dev/null
        running=$pid
    done
    # what is left of the last one takes it out of the engine
    [ -e "$work/r.$pid.0" ] || complain "it was never attached to"
    for file in "$work/r.$pid".*; do
        tries=0
        while count "$file" && [ "$(value state)" != 4 ] && [ $tries -lt 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        expect "state 4"
    done
    echo 5 | "$launcher" --bursts "$engine" "mode=mix,${RLE_OPTIONS:-}output=$work/r" $pid > "$work/answers"
    grep -q '^ok' "$work/answers" || complain "afterwards: $(cat "$work/answers")"
    end 5
}

killed() {
    start 10
    yes 1000 | "$launcher" --bursts "$engine" "mode=mix,${RLE_OPTIONS:-}output=$work/r" $pid > "$work/answers" &
    bursting=$!
    running="$pid $bursting"
    sleep 0.3
    kill -KILL $pid
    wait $pid
    ended=$? running=$bursting
    [ $ended -eq 137 ] || complain "it ended otherwise"
    i=0
    while ! grep -q '^failed' "$work/answers" && [ $i -lt 1000 ]; do
        sleep 0.01
        i=$((i + 1))
    done
    kill -KILL $bursting
    wait $bursting 2> /dev/null
    running=
    grep -q 'it has ended\|no such process' "$work/answers" || complain "answers: $(head "$work/answers")"
}

$case
exit $bad
