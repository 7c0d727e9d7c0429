# The roof comes from the cache of measured machines, by the key in the profile.
mkdir -p "$HOME/.local/share/roofline"
cp "$CASES/../../fixture/report/machine.json" "$HOME/.local/share/roofline/fixture-2-cores.json"
roofline report -f table --select copy "$CASES/../../fixture/report/profile.json"
