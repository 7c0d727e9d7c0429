roofline report
