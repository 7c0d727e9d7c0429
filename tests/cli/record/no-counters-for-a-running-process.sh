roofline record --count pmu --pid $$ -o p.json
