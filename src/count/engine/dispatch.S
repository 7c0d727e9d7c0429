/* The borders of translated code: leaving the cache, entering it, the kernel's signal entry, system
 * calls and new threads. Registers of the program are in struct rle_thread.reg while C runs; vector
 * state stays in the processor, as the engine's C uses general registers only.
 *
 * Address ranges with names ending in _begin and _end are known to signal.c, which repairs what a
 * signal interrupts there. */
#include "count/engine/thread_block.h"

#define FLAGS_OF_C 0x202 /* interrupts on, everything else off: no direction, trap, alignment check */

.macro GLOBAL name
    .globl \name
    .hidden \name
\name:
.endm

.macro SAVE_PROGRAM
    mov %rax, %gs:RLE_TB_CONTEXT+0
    mov %rcx, %gs:RLE_TB_CONTEXT+8
    mov %rdx, %gs:RLE_TB_CONTEXT+16
    mov %rbx, %gs:RLE_TB_CONTEXT+24
    mov %rsp, %gs:RLE_TB_CONTEXT+32
    mov %rbp, %gs:RLE_TB_CONTEXT+40
    mov %rsi, %gs:RLE_TB_CONTEXT+48
    mov %rdi, %gs:RLE_TB_CONTEXT+56
    mov %r8, %gs:RLE_TB_CONTEXT+64
    mov %r9, %gs:RLE_TB_CONTEXT+72
    mov %r10, %gs:RLE_TB_CONTEXT+80
    mov %r11, %gs:RLE_TB_CONTEXT+88
    mov %r12, %gs:RLE_TB_CONTEXT+96
    mov %r13, %gs:RLE_TB_CONTEXT+104
    mov %r14, %gs:RLE_TB_CONTEXT+112
    mov %r15, %gs:RLE_TB_CONTEXT+120
    mov %gs:RLE_TB_ENGINE_SP, %rsp
    pushfq
    pop %gs:RLE_TB_CONTEXT_FLAGS
    pushq $FLAGS_OF_C
    popfq
    mov %gs:RLE_TB_SELF, %rdi
.endm

.macro RESTORE_PROGRAM
    push %gs:RLE_TB_CONTEXT_FLAGS
    popfq
    mov %gs:RLE_TB_CONTEXT+0, %rax
    mov %gs:RLE_TB_CONTEXT+8, %rcx
    mov %gs:RLE_TB_CONTEXT+16, %rdx
    mov %gs:RLE_TB_CONTEXT+24, %rbx
    mov %gs:RLE_TB_CONTEXT+40, %rbp
    mov %gs:RLE_TB_CONTEXT+48, %rsi
    mov %gs:RLE_TB_CONTEXT+56, %rdi
    mov %gs:RLE_TB_CONTEXT+64, %r8
    mov %gs:RLE_TB_CONTEXT+72, %r9
    mov %gs:RLE_TB_CONTEXT+80, %r10
    mov %gs:RLE_TB_CONTEXT+88, %r11
    mov %gs:RLE_TB_CONTEXT+96, %r12
    mov %gs:RLE_TB_CONTEXT+104, %r13
    mov %gs:RLE_TB_CONTEXT+112, %r14
    mov %gs:RLE_TB_CONTEXT+120, %r15
    mov %gs:RLE_TB_CONTEXT+32, %rsp
    jmp *%gs:RLE_TB_TARGET
.endm

    .text

/* A target's verification failed, or no place is known for a return (then its stack pointer is
 * still in rcx). The program's rcx is in SPILL0; its flags are live. Look in the second-level table
 * without touching flags; enter C only if that fails too. */
GLOBAL rle_miss_begin
GLOBAL rle_return_unknown
    lea 8(%rcx), %rsp
GLOBAL rle_return_miss
    mov %rax, %gs:RLE_TB_SPILL1
    mov -8(%rsp), %rax
    mov %rdx, %gs:RLE_TB_SPILL2
    mov %rax, %gs:RLE_TB_NEXT_PC
    movzwl %gs:RLE_TB_NEXT_PC+2, %ecx
    lea (%rcx,%rax), %rcx
    movzwl %cx, %ecx
    mov %gs:RLE_TB_HASH(,%rcx,8), %rcx
    jrcxz 1f
    mov (%rcx), %rdx
    lea (%rdx,%rax), %rdx
    xchg %rcx, %rdx
    jrcxz 2f
1:  mov %gs:RLE_TB_SPILL2, %rdx
    mov %gs:RLE_TB_SPILL1, %rax
    mov %gs:RLE_TB_SPILL0, %rcx
    jmp rle_return_save
2:  jmp rle_second_level_hit

GLOBAL rle_jump_miss
    mov %rax, %gs:RLE_TB_SPILL1
    mov %gs:RLE_TB_TARGET, %rax
    mov %rdx, %gs:RLE_TB_SPILL2
    mov %rax, %gs:RLE_TB_NEXT_PC
    movzwl %gs:RLE_TB_NEXT_PC+2, %ecx
    lea (%rcx,%rax), %rcx
    movzwl %cx, %ecx
    mov %gs:RLE_TB_HASH(,%rcx,8), %rcx
    jrcxz 1f
    mov (%rcx), %rdx
    lea (%rdx,%rax), %rdx
    xchg %rcx, %rdx
    jrcxz rle_second_level_hit
1:  mov %gs:RLE_TB_SPILL2, %rdx
    mov %gs:RLE_TB_SPILL1, %rax
    mov %gs:RLE_TB_SPILL0, %rcx
    jmp rle_jump_save

rle_second_level_hit:
    mov 8(%rdx), %rcx
    mov %rcx, %gs:RLE_TB_TARGET
    mov %gs:RLE_TB_SPILL2, %rdx
    mov %gs:RLE_TB_SPILL1, %rax
    mov %gs:RLE_TB_SPILL0, %rcx
    jmp *%gs:RLE_TB_TARGET

/* End of what a signal steps through; from here on C is certain to come. */
GLOBAL rle_miss_end
rle_jump_save:
    SAVE_PROGRAM
    call rle_dispatch_jump
    jmp rle_resume_begin

rle_return_save:
    SAVE_PROGRAM
    call rle_dispatch_return
    jmp rle_resume_begin

/* An exit stub was taken; its number is in STUB. */
GLOBAL rle_exit
    SAVE_PROGRAM
    call rle_dispatch_stub
    jmp rle_resume_begin

/* Go on at the program address NEXT_PC, with registers as in reg[]. */
GLOBAL rle_continue
    mov %gs:RLE_TB_ENGINE_SP, %rsp
    mov %gs:RLE_TB_SELF, %rdi
    call rle_dispatch_next
/* Enter the cache at TARGET, unless a signal waits. May be interrupted anywhere and run again. */
GLOBAL rle_resume_begin
    cmpl $0, %gs:RLE_TB_PENDING
    jne rle_continue
    RESTORE_PROGRAM
GLOBAL rle_resume_end

/* Instrumentation called out; goes on inside a fragment, at RESUME. */
GLOBAL rle_callout
    SAVE_PROGRAM
    call rle_dispatch_callout
GLOBAL rle_callout_resume_begin
    RESTORE_PROGRAM
GLOBAL rle_callout_resume_end

/* long rle_program_syscall(nr, args[6]): the program's own system call. Returns RLE_RESTART instead
 * if a signal is pending or arrives before it has taken place. */
GLOBAL rle_program_syscall
    mov %rdi, %rax
    mov %rsi, %r11
    mov 0(%r11), %rdi
    mov 16(%r11), %rdx
    mov 24(%r11), %r10
    mov 32(%r11), %r8
    mov 40(%r11), %r9
    mov 8(%r11), %rsi
    movl $1, %gs:RLE_TB_IN_SYSCALL
GLOBAL rle_syscall_begin
    cmpl $0, %gs:RLE_TB_PENDING
    jne rle_syscall_restart
GLOBAL rle_syscall_at
    syscall
GLOBAL rle_syscall_end
    movl $0, %gs:RLE_TB_IN_SYSCALL
    ret
GLOBAL rle_syscall_restart
    movl $0, %gs:RLE_TB_IN_SYSCALL
    mov $-512, %rax
    ret

/* long rle_clone(nr, args[6], struct rle_thread *child): clone or clone3 with a new stack, which the
 * caller put into the arguments. The child does not return. */
GLOBAL rle_clone
    push %r12
    mov %rdx, %r12
    mov %rdi, %rax
    mov %rsi, %r11
    mov 0(%r11), %rdi
    mov 8(%r11), %rsi
    mov 16(%r11), %rdx
    mov 24(%r11), %r10
    mov 32(%r11), %r8
    syscall
    test %rax, %rax
    jz 1f
    pop %r12
    ret
1:  mov %r12, %rdi
start_thread:
    xor %ebp, %ebp
    mov RLE_TB_ENGINE_SP(%rdi), %rsp
    call rle_thread_start
    jmp rle_continue

/* A launcher let a thread of a running program come here, with all signals blocked: its slot is in
 * rdi, the stack is one of its own, the program's vector state is in the processor. */
GLOBAL rle_attach_entry
    call rle_attach
    mov %rax, %rdi
    jmp start_thread

/* The kernel's signal entry, on the engine's alternate stack: (signal, info, ucontext). C returns 0
 * to go back to what was interrupted, else the program continues from reg[] and NEXT_PC. */
GLOBAL rle_signal_entry
    pushq $FLAGS_OF_C
    popfq
    mov %rsp, %rbx
    and $-16, %rsp
    call rle_signal
    test %eax, %eax
    jnz rle_continue
    lea 8(%rbx), %rsp
    mov $15, %eax
    syscall
    ud2

/* The kernel restored the program's registers from a signal frame; they are in the processor. */
GLOBAL rle_after_sigreturn
    SAVE_PROGRAM
    jmp rle_continue

/* void rle_sigreturn(frame): does not return; execution goes on where the frame says. */
GLOBAL rle_sigreturn
    mov %rdi, %rsp
    mov $15, %eax
    syscall
GLOBAL rle_sigreturn_fails
    ud2

/* void rle_thread_exit(status, uint32_t *in_use): let go of the thread block, whose stack this is,
 * and end the thread. Nothing is touched after the store. All signals are blocked. */
GLOBAL rle_thread_exit
    movl $0, (%rsi)
    mov $60, %eax
    syscall
    ud2

/* Leave the engine for good: the program goes on natively at NEXT_PC. */
GLOBAL rle_go_native
    mov %gs:RLE_TB_NEXT_PC, %rax
    mov %rax, %gs:RLE_TB_TARGET
    RESTORE_PROGRAM

/* void rle_return_natively(state): the same without the thread block, nor a byte of the program's
 * stack. */
GLOBAL rle_return_natively
    mov %rdi, %rsp
    pop %rax
    pop %rcx
    pop %rdx
    pop %rbx
    lea 8(%rsp), %rsp
    pop %rbp
    pop %rsi
    pop %rdi
    pop %r8
    pop %r9
    pop %r10
    pop %r11
    pop %r12
    pop %r13
    pop %r14
    pop %r15
    iretq

/* long rle_copy_guarded(to, from, bytes): a fault at the marked instruction goes to the failure. */
GLOBAL rle_copy_guarded
    mov %rdx, %rcx
GLOBAL rle_guarded_at
    rep movsb
    xor %eax, %eax
    ret
GLOBAL rle_guarded_fail
    mov $-14, %rax
    ret

/* The constructor, entered by the dynamic loader before any other: (argc, argv, envp). Its return
 * address is where the translated program begins. */
GLOBAL rle_constructor
    sub $8, %rsp
    call rle_take_over
    add $8, %rsp
    test %eax, %eax
    jz 1f
    pop %gs:RLE_TB_NEXT_PC
    SAVE_PROGRAM
    jmp rle_continue
1:  ret

/* The launcher finds the control structure by the word in front of the entry point. */
    .balign 8
    .quad rle_control - rle_injected
/* Where the launcher puts a process that stands at its first instruction: the stack is as the kernel
 * made it, rax holds the program's entry, everything else is 0. */
GLOBAL rle_injected
    mov %rsp, %rbx
    mov %rax, %r12
    mov %rsp, %rdi
    and $-16, %rsp
    call rle_take_over_at_entry
    mov %rbx, %rsp
    mov %r12, %rcx
    mov $0, %ebx
    mov $0, %edx
    mov $0, %esi
    mov $0, %edi
    mov $0, %r8d
    mov $0, %r9d
    mov $0, %r10d
    mov $0, %r11d
    mov $0, %r12d
    test %eax, %eax
    jnz 1f
    jmp *%rcx
1:  mov %rcx, %gs:RLE_TB_NEXT_PC
    mov $0, %ecx
    mov $0, %eax
    push $FLAGS_OF_C
    popfq
    SAVE_PROGRAM
    jmp rle_continue

    .section .init_array, "aw"
    .quad rle_constructor
    .section .note.GNU-stack, "", @progbits
