/* The tables as they stand in data/events, so that no file is needed where the program runs. */
	.section .rodata
	.macro table name, file
	.globl rl_pmu_data_\name
	.hidden rl_pmu_data_\name
rl_pmu_data_\name:
	.incbin "\file"
	.byte 0
	.endm
	table cores, "cores.tsv"
	table events, "events.tsv"
	table plans, "plans.tsv"
	table never, "never.tsv"
	.section .note.GNU-stack,"",%progbits
