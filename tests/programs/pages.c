/* Regions that touch a known number of fresh pages each: what an event that counts page faults must
 * say of them. Every region is entered once before, so that all else has been touched. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <roofline/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY    5000
#define PAGES   32768
#define THREADS 2

static size_t page;
static char *arena;
static size_t n_taken;

/* Fresh pages, not yet touched. */
static char *take(size_t n)
{
    char *at = arena + __atomic_fetch_add(&n_taken, n, __ATOMIC_RELAXED) * page;
    if (n_taken > PAGES)
        abort();
    return at;
}

static void touch(char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)at)[i * page] = 1;
}

static void region(const char *name, size_t n)
{
    char *at = take(n);
    roofline_region_begin(name);
    touch(at, n);
    roofline_region_end(name);
}

static void nested(size_t n_outer, size_t n_inner)
{
    char *at = take(n_outer);
    roofline_region_begin("outer");
    touch(at, n_outer);
    region("inner", n_inner);
    roofline_region_end("outer");
}

static void recursive(int depth, size_t n)
{
    char *at = take(n);
    roofline_region_begin("recursive");
    touch(at, n);
    if (depth > 1)
        recursive(depth - 1, n);
    roofline_region_end("recursive");
}

/* The first to begin is the first to end. */
static void overlapping(size_t n)
{
    char *at = take(3 * n);
    roofline_region_begin("first");
    touch(at, n);
    roofline_region_begin("second");
    touch(at + n * page, n);
    roofline_region_end("first");
    touch(at + 2 * n * page, n);
    roofline_region_end("second");
}

static void *in_thread(void *pages)
{
    region("threads", 0);
    region("threads", (size_t)pages);
    return NULL;
}

static void *helper(void *pages)
{
    touch(take((size_t)pages), (size_t)pages);
    return NULL;
}

/* The threads are made inside the region that the first thread opens. */
static void inside(const char *name, size_t n)
{
    pthread_t thread[THREADS];
    roofline_region_begin(name);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, helper, (void *)n);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    roofline_region_end(name);
}

static int pool[2][2]; /* to and from a thread that waits for work */

static void *pool_thread(void *unused)
{
    size_t n;
    while (read(pool[0][0], &n, sizeof n) == sizeof n) {
        touch(take(n), n);
        if (write(pool[1][1], "d", 1) != 1)
            abort();
    }
    return unused;
}

/* A thread that was there before the first region does the work. */
static void pooled(size_t n)
{
    char done;
    roofline_region_begin("pooled");
    if (write(pool[0][1], &n, sizeof n) != sizeof n || read(pool[1][0], &done, 1) != 1)
        abort();
    roofline_region_end("pooled");
}

static void in_a_child(size_t n)
{
    if (fork() == 0) {
        region("child", 0);
        region("child", n);
        _exit(0);
    }
    wait(NULL);
}

/* Descriptors that a program closes without knowing them may come to mean its own files. */
static void closed(const char *self)
{
    enum { FIRST = STDERR_FILENO + 1, MOST = 256, OWN = 64 };
    char byte[1024];
    int n = 0;
    for (int fd = FIRST; fd < MOST; fd++)
        close(fd);
    for (int i = 0; i < OWN; i++)
        open(self, O_RDONLY);
    region("closed", 10);
    for (int fd = FIRST; fd < FIRST + OWN; fd++)
        n += lseek(fd, 0, SEEK_CUR) == 0 && read(fd, byte, sizeof byte) == sizeof byte;
    if (n != OWN)
        abort();
}

/* From now on the kernel ends the program at any call but read, write and its end. */
static void strict(size_t n)
{
    errno = ENOTTY;
    region("strict", n);
    if (errno != ENOTTY || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        abort();
    region("strict", n);
    syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS], waiting;
    page = (size_t)sysconf(_SC_PAGESIZE);
    arena = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        return 1;
    madvise(arena, PAGES * page, MADV_NOHUGEPAGE);
    if (argc > 1 && !strcmp(argv[1], "closed")) { /* alone: the pool would read from those files */
        region("closed", 0);
        closed("/proc/self/exe");
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "strict")) {
        region("strict", 0);
        strict(30);
    }
    if (pipe(pool[0]) || pipe(pool[1]) || pthread_create(&waiting, NULL, pool_thread, NULL))
        return 1;
    region("inner", 0);
    nested(0, 0);
    recursive(1, 0);
    overlapping(0);
    pooled(0);
    region("exact", 0);
    region("exact", 1000);
    nested(100, 50);
    recursive(3, 10);
    overlapping(20);
    pooled(300);
    inside("inside", 400);
    for (int i = 0; i < MANY; i++)
        region("many", 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, in_thread, (void *)200);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    in_a_child(70);
    return 0;
}
