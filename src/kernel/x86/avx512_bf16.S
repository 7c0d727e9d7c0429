/* AVX512-BF16: dot products of bf16 pairs into fp32 on 512 bits. */
#include "kernel/x86/macros.inc"

	.text
	COMPUTE bf16_dot_avx512_bf16, zmm, vmovups, 2, CHAINS24 v_dot, zmm, vdpbf16ps

	.section .note.GNU-stack,"",@progbits
