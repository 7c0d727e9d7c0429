/* FMA3 on one lane and on 128 bits. */
#include "kernel/x86/macros.inc"

	.text
	FMA_SET fp64, scalar, xmm, sd, vmovups
	FMA_SET fp32, scalar, xmm, ss, vmovups
	FMA_SET fp64, sse2, xmm, pd, vmovups
	FMA_SET fp32, sse2, xmm, ps, vmovups

	.section .note.GNU-stack,"",@progbits
