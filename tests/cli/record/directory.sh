# A folder is no program, and a name that only a folder of PATH has is none either.
mkdir folder
roofline record -- ./folder || echo $?
roofline record -- . || echo $?
