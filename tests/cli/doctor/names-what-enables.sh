roofline doctor | grep -A1 "machine record"
