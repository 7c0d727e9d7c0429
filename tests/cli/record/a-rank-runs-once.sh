# MPI lets a rank start once in a job: it is counted, and its times come from another job.
export OMPI_COMM_WORLD_RANK=3
roofline record -q --count none -o 'time-%r.json' -- sh -c 'echo timed'
roofline record --traffic none --times 'time-%r.json' -o 'run-%r.json' -- sh -c 'echo counted'
roofline record --traffic none -o 'alone-%r.json' -- sh -c 'echo alone'
ls
