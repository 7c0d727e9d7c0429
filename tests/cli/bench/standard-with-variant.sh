roofline bench --variant naive
