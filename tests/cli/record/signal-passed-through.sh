roofline record -q --count none -o p.json -- sh -c "kill -TERM \$\$"
