roofline record -o no/such/folder/p.json -- echo it must not run
