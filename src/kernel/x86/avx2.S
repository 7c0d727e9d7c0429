/* AVX2 with FMA: 256 bits. */
#include "kernel/x86/macros.inc"

	.text
	FLOAT_SET fp64, avx2, ymm, pd, vmovups
	FLOAT_SET fp32, avx2, ymm, ps, vmovups
	FMA_SET fp64, avx2, ymm, pd, vmovups
	FMA_SET fp32, avx2, ymm, ps, vmovups
	COMPUTE fp32_rsqrt_avx2, ymm, vmovups, 2, CHAINS12 v_rsqrt, ymm, ps

	COMPUTE int8_add_avx2, ymm, vmovups, 4, CHAINS12 v_int, ymm, vpaddb
	COMPUTE int16_add_avx2, ymm, vmovups, 4, CHAINS12 v_int, ymm, vpaddw
	COMPUTE int32_add_avx2, ymm, vmovups, 4, CHAINS12 v_int, ymm, vpaddd
	COMPUTE int16_mul_avx2, ymm, vmovups, 4, CHAINS12 v_int, ymm, vpmullw
	COMPUTE int32_mul_avx2, ymm, vmovups, 4, CHAINS12 v_int, ymm, vpmulld
	COMPUTE int16_madd_avx2, ymm, vmovups, 4, CHAINS12 v_int_two, ymm, vpmaddwd
	COMPUTE int8_madd_avx2, ymm, vmovups, 4, CHAINS12 v_int_two, ymm, vpmaddubsw

/* An exact dot product of bytes without VNNI takes three instructions; register 14 holds words of
 * one. */
.macro BYTE_DOT v, t, r
	vpmaddubsw	%\v\()12, %\v\()13, %\v\()8
	vpmaddwd	%\v\()14, %\v\()8, %\v\()8
	vpaddd	%\v\()8, %\v\r, %\v\r
.endm

	COMPUTE int8_dot_avx2, ymm, vmovups, 4, CHAINS8 BYTE_DOT, ymm, -

	STREAM_SET avx2, ymm, vmovaps, vmovntps, 32, vmovups
	TRIAD_SET avx2, ymm, vmovaps, vmovntps, 32, vmovups
	LOAD_SET avx2, ymm, vmovaps, 32, vmovups
	LONG_SET avx2, ymm, vmovaps, 32, vmovups

	.section .note.GNU-stack,"",@progbits
