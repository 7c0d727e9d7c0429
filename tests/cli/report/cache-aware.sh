roofline report -f chart --model cache-aware -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
