/* AMX-INT8: tile products of bytes into int32. */
#include "kernel/x86/macros.inc"
#include "kernel/x86/amx.inc"

	TILE_KERNEL int8_dot_amx, tdpbssd

	.section .note.GNU-stack,"",@progbits
