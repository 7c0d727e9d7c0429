# A record from elsewhere whose texts would steer the terminal, and empty ones, which say nothing.
cat >m.json <<'JSON'
{"schema": "roofline-machine/1", "name": "test\u001b[2J machine\u0007",
 "cpu": {"microarchitecture": "", "identity_note": "", "isa": "scalar\u009b31m"},
 "environment": {"os": "an\u202e OS"},
 "compute": [
  {"id": "fp64.fma.avx512@1", "precision": "fp64", "op": "fma", "isa": "avx512", "threads": 1, "unit": "FLOP/s",
   "variant": "12\u001bchains", "rate": {"value": 1.2e11, "source": "measured", "spread": 0.01}}]}
JSON
roofline machines m.json
