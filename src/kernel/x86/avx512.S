/* AVX-512 (F, BW, DQ): 512 bits. */
#include "kernel/x86/macros.inc"

	.text
	FLOAT_SET fp64, avx512, zmm, pd, vmovups
	FLOAT_SET fp32, avx512, zmm, ps, vmovups
	FMA_SET fp64, avx512, zmm, pd, vmovups
	FMA_SET fp32, avx512, zmm, ps, vmovups
	COMPUTE fp64_fma_c24_avx512, zmm, vmovups, 2, CHAINS24 v_fma, zmm, pd
	COMPUTE fp32_fma_c24_avx512, zmm, vmovups, 2, CHAINS24 v_fma, zmm, ps
	COMPUTE fp64_add_c24_avx512, zmm, vmovups, 2, CHAINS24 v_add, zmm, pd
	COMPUTE fp32_add_c24_avx512, zmm, vmovups, 2, CHAINS24 v_add, zmm, ps
	COMPUTE fp64_mul_c24_avx512, zmm, vmovups, 2, CHAINS24 v_mul, zmm, pd
	COMPUTE fp32_mul_c24_avx512, zmm, vmovups, 2, CHAINS24 v_mul, zmm, ps
	COMPUTE fp64_rsqrt_avx512, zmm, vmovups, 2, CHAINS12 v_rsqrt, zmm, 14pd
	COMPUTE fp32_rsqrt_avx512, zmm, vmovups, 2, CHAINS12 v_rsqrt, zmm, 14ps

/* FMA and addition, and multiplication and addition, twelve chains each. */
.macro TWELVE_AND_TWELVE first, second, v, t
	.irp r, 0,1,2,3,4,5
	\first \v, \t, \r
	SECOND_IN_16_21 \second, \v, \t, \r
	.endr
	.irp r, 6,7,8,9,10,11
	\first \v, \t, \r
	SECOND_IN_22_27 \second, \v, \t, \r
	.endr
.endm

.macro SECOND_IN_16_21 op, v, t, r
	.if \r == 0
	\op \v, \t, 16
	.elseif \r == 1
	\op \v, \t, 17
	.elseif \r == 2
	\op \v, \t, 18
	.elseif \r == 3
	\op \v, \t, 19
	.elseif \r == 4
	\op \v, \t, 20
	.else
	\op \v, \t, 21
	.endif
.endm

.macro SECOND_IN_22_27 op, v, t, r
	.if \r == 6
	\op \v, \t, 22
	.elseif \r == 7
	\op \v, \t, 23
	.elseif \r == 8
	\op \v, \t, 24
	.elseif \r == 9
	\op \v, \t, 25
	.elseif \r == 10
	\op \v, \t, 26
	.else
	\op \v, \t, 27
	.endif
.endm

	COMPUTE fp64_fmaadd_c24_avx512, zmm, vmovups, 2, TWELVE_AND_TWELVE v_fma, v_add, zmm, pd
	COMPUTE fp32_fmaadd_c24_avx512, zmm, vmovups, 2, TWELVE_AND_TWELVE v_fma, v_add, zmm, ps
	COMPUTE fp64_addmul_c24_avx512, zmm, vmovups, 2, TWELVE_AND_TWELVE v_mul, v_add, zmm, pd
	COMPUTE fp32_addmul_c24_avx512, zmm, vmovups, 2, TWELVE_AND_TWELVE v_mul, v_add, zmm, ps

	COMPUTE int8_add_avx512, zmm, vmovups, 4, CHAINS12 v_int, zmm, vpaddb
	COMPUTE int16_add_avx512, zmm, vmovups, 4, CHAINS12 v_int, zmm, vpaddw
	COMPUTE int32_add_avx512, zmm, vmovups, 4, CHAINS12 v_int, zmm, vpaddd
	COMPUTE int16_mul_avx512, zmm, vmovups, 4, CHAINS12 v_int, zmm, vpmullw
	COMPUTE int32_mul_avx512, zmm, vmovups, 2, CHAINS24 v_int, zmm, vpmulld
	COMPUTE int16_madd_avx512, zmm, vmovups, 4, CHAINS12 v_int_two, zmm, vpmaddwd
	COMPUTE int8_madd_avx512, zmm, vmovups, 4, CHAINS12 v_int_two, zmm, vpmaddubsw

	STREAM_SET avx512, zmm, vmovaps, vmovntps, 64, vmovups
	TRIAD_SET avx512, zmm, vmovaps, vmovntps, 64, vmovups
	LOAD_SET avx512, zmm, vmovaps, 64, vmovups
	LONG_SET avx512, zmm, vmovaps, 64, vmovups

	.section .note.GNU-stack,"",@progbits
