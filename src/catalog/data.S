/* The catalogue as it stands in data/catalog, so that no file is needed where the program runs. */
	.section .rodata
	.globl rl_catalog_data
	.globl rl_catalog_data_end
	.hidden rl_catalog_data
	.hidden rl_catalog_data_end
rl_catalog_data:
	.incbin "microarchitectures.tsv"
rl_catalog_data_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
