/* AVX-VNNI: byte dot products on 256 bits, VEX encoding. */
#include "kernel/x86/macros.inc"

	.text
.macro vex_dot v, t, r
	{vex} \t	%\v\()14, %\v\()15, %\v\r
.endm

	COMPUTE int8_dot_avx_vnni, ymm, vmovups, 4, CHAINS12 vex_dot, ymm, vpdpbusd
	COMPUTE int16_dot_avx_vnni, ymm, vmovups, 4, CHAINS12 vex_dot, ymm, vpdpwssd

	.section .note.GNU-stack,"",@progbits
