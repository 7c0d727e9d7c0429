# A limit that was exceeded, as programs that did not check it wrote it, one that was reached, and one out of reach.
cat >m.json <<'JSON'
{"schema": "roofline-machine/1", "name": "test machine",
 "cpu": {"microarchitecture": "intel-icelake-client", "identity_note": "CPUID names another core"},
 "compute": [
  {"id": "fp64.fma.avx512@1", "precision": "fp64", "op": "fma", "isa": "avx512", "threads": 1, "unit": "FLOP/s",
   "rate": {"value": 1.2e11, "source": "measured", "spread": 0.01}, "per_cycle": 32, "limit_per_cycle": 16},
  {"id": "fp32.fma.avx512@1", "precision": "fp32", "op": "fma", "isa": "avx512", "threads": 1, "unit": "FLOP/s",
   "rate": {"value": 1.2e11, "source": "measured", "spread": 0.01}, "per_cycle": 32, "limit_per_cycle": 32}],
 "memory": [
  {"id": "L1.load@1", "level": "L1", "pattern": "load", "threads": 1,
   "rate": {"value": 4e11, "source": "measured", "spread": 0.01}, "per_cycle": 120, "limit_per_cycle": 64},
  {"id": "L2.load@1", "level": "L2", "pattern": "load", "threads": 1,
   "rate": {"value": 2e11, "source": "measured", "spread": 0.01}, "per_cycle": 49, "limit_per_cycle": 64,
   "reachable_per_cycle": 50}]}
JSON
roofline machines m.json
