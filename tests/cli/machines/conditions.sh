# What holds for the whole measurement stands apart from what this machine does not have.
cat >m.json <<'JSON'
{"schema": "roofline-machine/1", "name": "test machine",
 "missing": [{"what": "fp16.dot.amx", "why": "needs AMX-FP16"},
             {"what": "DRAM beyond caches", "why": "1 thread had 49 MiB of memory beside a cache of 480 MiB"}]}
JSON
roofline machines m.json | sed '1,/^$/d'
