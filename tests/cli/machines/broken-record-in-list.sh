# One broken record does not hide the others.
mkdir -p "$HOME/.local/share/roofline"
echo "{" >"$HOME/.local/share/roofline/2c-00.json"
roofline machines
