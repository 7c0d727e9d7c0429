roofline report nowhere.json
