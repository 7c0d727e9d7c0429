/* x86-64 baseline: legacy SSE encodings, one lane and 128 bits, and general registers. */
#include "kernel/x86/macros.inc"

	.text

.macro s_add v, t, r
	add\t	%xmm13, %xmm\r
.endm

.macro s_mul v, t, r
	mul\t	%xmm12, %xmm\r
.endm

.macro s_div v, t, r
	div\t	%xmm12, %xmm\r
.endm

.macro s_sqrt v, t, r
	sqrt\t	%xmm15, %xmm\r
.endm

.macro s_rsqrt v, t, r
	rsqrt\t	%xmm15, %xmm\r
.endm

.macro s_int v, t, r
	\t	%xmm13, %xmm\r
.endm

.macro LEGACY_SET precision, t, isa
	COMPUTE \precision\()_add_\isa, xmm, movups, 4, CHAINS12 s_add, xmm, \t
	COMPUTE \precision\()_mul_\isa, xmm, movups, 4, CHAINS12 s_mul, xmm, \t
	COMPUTE \precision\()_addmul_\isa, xmm, movups, 4, PAIRS6 s_add, s_mul, xmm, \t
	COMPUTE \precision\()_div_\isa, xmm, movups, 1, CHAINS12 s_div, xmm, \t
	COMPUTE \precision\()_sqrt_\isa, xmm, movups, 1, CHAINS12 s_sqrt, xmm, \t
.endm

	LEGACY_SET fp64, sd, scalar
	LEGACY_SET fp32, ss, scalar
	LEGACY_SET fp64, pd, sse2
	LEGACY_SET fp32, ps, sse2
	COMPUTE fp32_rsqrt_scalar, xmm, movups, 2, CHAINS12 s_rsqrt, xmm, ss
	COMPUTE fp32_rsqrt_sse2, xmm, movups, 2, CHAINS12 s_rsqrt, xmm, ps

	COMPUTE int8_add_sse2, xmm, movups, 4, CHAINS12 s_int, xmm, paddb
	COMPUTE int16_add_sse2, xmm, movups, 4, CHAINS12 s_int, xmm, paddw
	COMPUTE int16_mul_sse2, xmm, movups, 4, CHAINS12 s_int, xmm, pmullw
	COMPUTE int16_madd_sse2, xmm, movups, 4, CHAINS12 s_int, xmm, pmaddwd
	COMPUTE int32_add_sse2, xmm, movups, 4, CHAINS12 s_int, xmm, paddd

/* Ten chains in general registers, r11 the operand of all. Registers travel through `in` and `out` in
 * the order of GENERAL_LOAD, eight bytes each in 64. */
.macro GENERAL_LOAD
	mov	0(%rdi), %rcx
	mov	64(%rdi), %rdx
	mov	128(%rdi), %rsi
	mov	192(%rdi), %r8
	mov	256(%rdi), %r9
	mov	320(%rdi), %r10
	mov	384(%rdi), %r11
	mov	448(%rdi), %rbx
	mov	512(%rdi), %rbp
	mov	576(%rdi), %r12
	mov	640(%rdi), %r13
.endm

.macro GENERAL_STORE
	mov	%rcx, 0(%rdi)
	mov	%rdx, 64(%rdi)
	mov	%rsi, 128(%rdi)
	mov	%r8, 192(%rdi)
	mov	%r9, 256(%rdi)
	mov	%r10, 320(%rdi)
	mov	%r11, 384(%rdi)
	mov	%rbx, 448(%rdi)
	mov	%rbp, 512(%rdi)
	mov	%r12, 576(%rdi)
	mov	%r13, 640(%rdi)
.endm

.macro GENERAL name, op
	FUNCTION \name
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%rdi
	mov	ARG_LOOPS(%rdi), %rax
	mov	ARG_IN(%rdi), %rdi
	GENERAL_LOAD
	.p2align 6
1:
	.rept 8
	.irp r, ecx,edx,esi,r8d,r9d,r10d,ebx,ebp,r12d,r13d
	\op	%r11d, %\r
	.endr
	.endr
	dec	%rax
	jnz	1b
	pop	%rdi
	mov	ARG_OUT(%rdi), %rdi
	GENERAL_STORE
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	rl_k_\name, . - rl_k_\name
.endm

	GENERAL int32_add_scalar, add
	GENERAL int32_mul_scalar, imul

	STREAM_SET sse2, xmm, movaps, movntps, 16, movups

/* a = factor * c + b without FMA. */
.macro LEGACY_TRIAD_8 v, m, s, w, from
	.irp i, 0,1,2,3,4,5,6,7
	\m	\from+\w*\i(%rcx), %xmm\i
	mulpd	%xmm12, %xmm\i
	addpd	\from+\w*\i(%rdx), %xmm\i
	\s	%xmm\i, \from+\w*\i(%rsi)
	.endr
.endm

	STREAM triad_sse2, xmm, movups, 512, THREE_32 LEGACY_TRIAD_8, xmm, movaps, movaps, 16
	STREAM nt_triad_sse2, xmm, movups, 512, THREE_32 LEGACY_TRIAD_8, xmm, movaps, movntps, 16

/* Pointer chase: sixteen dependent loads an iteration, starting at a; ends at out. */
	FUNCTION chase
	mov	ARG_LOOPS(%rdi), %rax
	mov	ARG_A(%rdi), %rsi
	.p2align 6
1:
	.rept 16
	mov	(%rsi), %rsi
	.endr
	dec	%rax
	jnz	1b
	mov	ARG_OUT(%rdi), %rax
	mov	%rsi, (%rax)
	ret
	.size	rl_k_chase, . - rl_k_chase

/* Push lines out of all caches: rdi the first byte, rsi how many. */
	FUNCTION flush
	add	%rdi, %rsi
	and	$-64, %rdi
1:	cmp	%rsi, %rdi
	jae	2f
	clflush	(%rdi)
	add	$64, %rdi
	jmp	1b
2:	mfence
	ret
	.size	rl_k_flush, . - rl_k_flush

	.section .note.GNU-stack,"",@progbits
