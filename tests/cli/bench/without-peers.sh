# Where neither a compiler nor a peer is installed each comparison says so and the next one has its turn.
scripts=$CASES/../../../scripts
mkdir few
for tool in sh sed dirname basename realpath cat rm mktemp awk grep uname; do
    ln -s "$(command -v $tool)" few/
done
PATH=$PWD/few "$scripts/bench.sh" "$PROGRAM" exactness likwid sampling slowdown | sed 1d
PATH=$PWD/few "$scripts/bench.sh" "$PROGRAM" nothing | sed 1d
