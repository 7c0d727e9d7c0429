LD_PRELOAD= roofline record -q -o p.json -- sh -c "echo \"[\${LD_PRELOAD:-}]\" >/dev/null; echo done"
