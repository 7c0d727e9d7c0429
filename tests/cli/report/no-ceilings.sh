echo '{"schema": "roofline-machine/1", "name": "bare"}' >bare.json
roofline report bare.json
