# A program and its function of one name are told apart; without one, the program's name is all there is to say.
fixture=$CASES/../../fixture/report
row='"flop": {"value": 1e9, "source": "counted"}, "time_s": {"value": 1, "source": "measured"}'
rows() {
    printf '{"schema": "roofline-profile/1", "name": "triad", "command": ["./triad"], "kernels": [
        {"name": "triad", "kind": "program", %s}, {"name": "%s", "kind": "function", %s}]}\n' "$row" "$1" "$row" >p.json
    roofline report -m "$fixture/machine.json" p.json | sed -n '/Kernel/,$s/^ *\([12]\) \(triad (program)\|[a-z]*\) .*/\1 \2/p'
}
rows triad
rows axpy
