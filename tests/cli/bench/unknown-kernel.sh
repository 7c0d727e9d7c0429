roofline bench gem
