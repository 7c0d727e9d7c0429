/* The thread block: what the engine knows of one thread, reached through the gs segment, which
 * Linux programs leave alone. Displacements are shared by C, by the assembly in dispatch.S and by
 * emitted code. The block is a mapping of its own; the counters at its end are a window of the
 * result file.
 *
 * Only macros here, so that the assembler can include it. */
#ifndef RL_COUNT_ENGINE_THREAD_BLOCK_H
#define RL_COUNT_ENGINE_THREAD_BLOCK_H

#define RLE_TB_SELF          0  /* address of the block */
#define RLE_TB_SPILL0        8  /* scratch of the branch sequences: program's rcx */
#define RLE_TB_SPILL1        16 /* the same: program's rax */
#define RLE_TB_SPILL2        24 /* scratch of counter updates */
#define RLE_TB_TARGET        32 /* indirect branch target, or cache address to continue at */
#define RLE_TB_STUB          40 /* 32 bit: number of the exit stub taken */
#define RLE_TB_ENGINE_SP     48 /* top of the engine's stack for this thread */
#define RLE_TB_RESUME        56 /* cache address a callout returns to */
#define RLE_TB_LOOP_SAVE     64 /* program's value of the loop counter's register */
#define RLE_TB_RESIDENT0     72 /* program's values of the resident registers */
#define RLE_TB_RESIDENT1     80
#define RLE_TB_SCRATCH0      88  /* program's values of spilled scratch registers (4 slots) */
#define RLE_TB_FLAGS         120 /* program's rax around a flag save (rle_flags_save) */
#define RLE_TB_EXIT          128 /* addresses of the entries of dispatch.S */
#define RLE_TB_RETURN_MISS   136
#define RLE_TB_JUMP_MISS     144
#define RLE_TB_CALLOUT       152
#define RLE_TB_PENDING       160 /* 32 bit: a signal waits for the next safe point */
#define RLE_TB_IN_SYSCALL    164 /* 32 bit: a system call of the program's is being made */
#define RLE_TB_NEXT_PC       168 /* program address to continue at after a miss or sigreturn */
#define RLE_TB_FLAGS2        176 /* saved flags (rle_flags_save) */
#define RLE_TB_PARKED        184 /* 32 bit: waits for the others to leave; attach.h */
#define RLE_TB_CONTEXT       256 /* program's rax rcx rdx rbx rsp rbp rsi rdi r8..r15 rflags */
#define RLE_TB_CONTEXT_FLAGS (RLE_TB_CONTEXT + 128)

/* C only: struct rle_thread in thread.h begins here. */
#define RLE_TB_THREAD 512

/* Belongs to the instrumentation (instrument.h). */
#define RLE_TB_INSTRUMENT    0x4000
#define RLE_INSTRUMENT_BYTES 0x10000

/* Second-level table of indirect branch targets: addresses of fragments (link.h), 0 where empty,
 * indexed by the low 16 bits of pc + (pc >> 16). Touched lazily. */
#define RLE_TB_HASH      0x20000
#define RLE_HASH_ENTRIES 0x10000

/* 64-bit execution counters. */
#define RLE_TB_COUNTERS 0xA0000

#endif
