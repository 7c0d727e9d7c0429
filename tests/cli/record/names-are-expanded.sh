OMPI_COMM_WORLD_RANK=7 roofline record -q --count none -o "run-%r-%%.json" -- true
ls
OMPI_COMM_WORLD_RANK=2 roofline record -q --count none -- true
ls
