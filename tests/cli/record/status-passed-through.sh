roofline record -q --count none -o p.json -- sh -c "echo out; exit 3"
