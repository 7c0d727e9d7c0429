printf "{\"schema\": \"roofline-machine/1\", \"name\"" >m.json
roofline machines m.json
