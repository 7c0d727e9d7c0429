/* Counts instructions the slow way, by stepping: singlestep COMMAND…
 *
 * Follows all threads of the program, not its children. Prints "instructions N": those in the
 * mappings of the executable itself, so that what the loader and libraries do with another
 * environment makes no difference. A string instruction with a repeat prefix stops after each
 * repetition, and counts once. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANGES_MAX = 16, THREADS_MAX = 64, PREFIXES_MAX = 4 };

struct range {
    uint64_t low, high;
};

struct thread {
    pid_t tid;
    uint64_t last_pc; /* of the instruction executed before, 0: none */
};

static struct range range[RANGES_MAX];
static unsigned n_range;
static struct thread threads[THREADS_MAX];
static unsigned n_threads;

/* Executable mappings of the file that /proc/PID/exe names. */
static void read_ranges(pid_t pid)
{
    char path[64], exe[4096], line[4352], name[4096], protection[8];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    if (n < 0)
        return;
    exe[n] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps) && n_range < RANGES_MAX) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &low, &high, protection, name) ==
                4 &&
            protection[2] == 'x' && !strcmp(name, exe))
            range[n_range++] = (struct range){low, high};
    }
    if (maps)
        fclose(maps);
}

static struct thread *thread_of(pid_t tid)
{
    for (unsigned i = 0; i < n_threads; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    if (n_threads == THREADS_MAX)
        exit(2);
    threads[n_threads] = (struct thread){tid, 0};
    return &threads[n_threads++];
}

static int is_inside(uint64_t pc)
{
    for (unsigned i = 0; i < n_range; i++)
        if (pc >= range[i].low && pc < range[i].high)
            return 1;
    return 0;
}

static int is_repeated(pid_t tid, uint64_t pc)
{
    uint8_t code[sizeof(long)];
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)pc, NULL);
    memcpy(code, &word, sizeof code);
    for (unsigned i = 0; i < PREFIXES_MAX; i++)
        if (code[i] == 0xF3 || code[i] == 0xF2)
            return 1;
    return 0;
}

/* The instruction at `pc` is about to be executed. */
static uint64_t count(struct thread *t, uint64_t pc)
{
    int again = pc == t->last_pc && is_repeated(t->tid, pc);
    t->last_pc = pc;
    return !again && is_inside(pc);
}

int main(int argc, char **argv)
{
    uint64_t instructions = 0;
    int status = 0, pass = 0;
    if (argc < 2)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status))
        return 77; /* not allowed to trace */
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
    read_ranges(child);
    for (pid_t tid = child; tid > 0; tid = waitpid(-1, &status, __WALL)) {
        struct user_regs_struct regs;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (tid == child)
                break;
            continue;
        }
        int signal = WSTOPSIG(status);
        pass = signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
        if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0 && status >> 16 == 0 && !pass)
            instructions += count(thread_of(tid), regs.rip);
        ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(long)pass);
    }
    printf("instructions %llu\n", (unsigned long long)instructions);
    return WIFEXITED(status) ? 0 : 1;
}
