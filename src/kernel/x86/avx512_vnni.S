/* AVX512-VNNI: byte and word dot products on 512 bits. */
#include "kernel/x86/macros.inc"

	.text
	COMPUTE int8_dot_avx512_vnni, zmm, vmovups, 2, CHAINS24 v_dot, zmm, vpdpbusd
	COMPUTE int16_dot_avx512_vnni, zmm, vmovups, 2, CHAINS24 v_dot, zmm, vpdpwssd

	.section .note.GNU-stack,"",@progbits
