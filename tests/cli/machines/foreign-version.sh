printf "{\"schema\": \"roofline-machine/9\"}" >m.json
roofline machines m.json
