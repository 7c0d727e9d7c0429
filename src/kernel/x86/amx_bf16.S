/* AMX-BF16: tile products of bf16 into fp32. */
#include "kernel/x86/macros.inc"
#include "kernel/x86/amx.inc"

	TILE_KERNEL bf16_dot_amx, tdpbf16ps

	.section .note.GNU-stack,"",@progbits
