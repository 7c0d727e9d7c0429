echo '{"schema": "something-else/1"}' >foreign.json
roofline report foreign.json
