/* AMX-FP16: tile products of fp16 into fp32. */
#include "kernel/x86/macros.inc"
#include "kernel/x86/amx.inc"

	TILE_KERNEL fp16_dot_amx, tdpfp16ps

	.section .note.GNU-stack,"",@progbits
