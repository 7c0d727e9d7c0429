roofline run -m machine.json
