# What JSON can say and a text of ours cannot hold is named in the reader's words.
sed 's/"name": *"[^"]*"/"name": "a\\u0000b"/' "$CASES/../../fixture/report/profile.json" >p.json
roofline report -m "$CASES/../../fixture/report/machine.json" p.json
