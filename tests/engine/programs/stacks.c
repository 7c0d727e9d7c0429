/* Signals whose frame does not fit on the stack: the kernel sends SIGSEGV instead. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"

enum { PAGE = 4096, STACK_BYTES = 1 << 16, LEFT_BYTES = 256, DEPTH_MAX = 1000 };

static char altstack[STACK_BYTES];
static volatile sig_atomic_t depth;

static void set_altstack(size_t bytes)
{
    stack_t stack = {.ss_sp = altstack, .ss_size = bytes};
    sigaltstack(&stack, NULL);
}

static void say(int signal, siginfo_t *info, void *context)
{
    (void)context;
    printf("handler: %d code %x\n", signal, (unsigned)info->si_code);
    fflush(stdout);
    _exit(3);
}

static void again(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (depth++ < DEPTH_MAX)
        raise(signal);
    _exit(4);
}

/* Sends itself a signal with LEFT_BYTES of stack. */
static void raise_at_the_end_of_the_stack(int number)
{
    char *stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long pid = getpid(), result;
    mprotect(stack, PAGE, PROT_NONE);
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %4, %%rsp\n\t"
                     "syscall\n\t"
                     "mov %%rbx, %%rsp"
                     : "=a"(result)
                     : "0"((long)SYS_kill), "D"(pid), "S"((long)number),
                       "r"(stack + PAGE + LEFT_BYTES)
                     : "rbx", "rcx", "r11", "memory");
}

static void overflow_altstack(void)
{
    set_altstack(STACK_BYTES);
    handle(SIGUSR1, again, SA_ONSTACK | SA_NODEFER);
    raise(SIGUSR1);
}

static void no_room(void)
{
    handle(SIGUSR1, say, 0);
    raise_at_the_end_of_the_stack(SIGUSR1);
}

static void no_room_but_a_handler(void)
{
    set_altstack(STACK_BYTES);
    handle(SIGSEGV, say, SA_ONSTACK);
    no_room();
}

static void no_room_and_blocked(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_BLOCK, &set, NULL);
    no_room_but_a_handler();
}

static void no_room_for_either(void)
{
    handle(SIGSEGV, say, 0);
    no_room();
}

static void enough_on_altstack(void)
{
    set_altstack(STACK_BYTES);
    handle(SIGUSR1, say, SA_ONSTACK);
    raise_at_the_end_of_the_stack(SIGUSR1);
}

/* Whether it fits depends on the processor. */
static void smallest_altstack(void)
{
    set_altstack(2048);
    handle(SIGUSR1, say, SA_ONSTACK);
    raise(SIGUSR1);
}

__attribute__((noinline)) static int recurse(int n)
{
    volatile char room[PAGE];
    room[0] = (char)n;
    return n < 0 ? 0 : recurse(n + 1) + room[0];
}

static void recursion(void)
{
    handle(SIGSEGV, say, 0);
    exit(recurse(1) & 1);
}

static void in_child(const char *what, void (*function)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        function();
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("%s: exit %d signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(void)
{
    in_child("altstack overflows", overflow_altstack);
    in_child("no room", no_room);
    in_child("no room but a handler", no_room_but_a_handler);
    in_child("no room and blocked", no_room_and_blocked);
    in_child("no room for either", no_room_for_either);
    in_child("enough on the signal stack", enough_on_altstack);
    in_child("smallest signal stack", smallest_altstack);
    in_child("recursion", recursion);
    return 0;
}
