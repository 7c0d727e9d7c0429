/* Instructions that mean nothing to the processor, by which the counting engine sees regions begin
 * and end: a long nop with a displacement that nobody else uses, the name's address in rdi. They
 * cost one instruction where nobody looks. */
#ifndef RL_REGION_MARK_H
#define RL_REGION_MARK_H

#include <stdint.h>

/** nopl disp32(%rax,%rax,1): these four bytes, then the mark. */
#define REGION_MARK_OPCODE 0x00841F0Fu

#define REGION_MARK_BEGIN 0x524C4201u
#define REGION_MARK_END   0x524C4202u
/** The innermost region of the thread; rdi means nothing. */
#define REGION_MARK_END_INNERMOST 0x524C4203u

#if defined(__x86_64__)
#define REGION_MARK(mark, name)                                                                    \
    __asm__ volatile(".long %c0, %c1" ::"i"(REGION_MARK_OPCODE), "i"(mark), "D"(name) : "memory")
#else
#define REGION_MARK(mark, name) (void)(name)
#endif

#endif
