/* AVX512-FP16: half precision on 512 bits. */
#include "kernel/x86/macros.inc"

	.text
	COMPUTE fp16_fma_avx512_fp16, zmm, vmovups, 2, CHAINS24 v_fma, zmm, ph
	COMPUTE fp16_add_avx512_fp16, zmm, vmovups, 2, CHAINS24 v_add, zmm, ph
	COMPUTE fp16_mul_avx512_fp16, zmm, vmovups, 2, CHAINS24 v_mul, zmm, ph

	.section .note.GNU-stack,"",@progbits
