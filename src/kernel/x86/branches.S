/* Branches for a predictor to learn instead of those it knows. */

/* More than the branch targets a core keeps (7 thousand on Zen 4, 12 thousand on Golden Cove), and
 * conditional ones: those push out what unconditional jumps do not. Zen 5 keeps 24 thousand, but
 * 32768 made nothing steadier there. */
	.set BRANCHES, 12288

	.text
	.globl	rl_k_branches
	.hidden	rl_k_branches
	.type	rl_k_branches, @function
	.p2align 6
rl_k_branches:
	xor	%eax, %eax
	.rept BRANCHES
	test	%eax, %eax
	jz	1f
	.p2align 4
1:
	.endr
	ret
	.size	rl_k_branches, . - rl_k_branches

	.section .note.GNU-stack,"",@progbits
