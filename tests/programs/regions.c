/* Regions in every shape: nested, recursive, overlapping, unended, ended without a begin, in
 * threads and in a forked child. */
#include <pthread.h>
#include <roofline/region.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY    10000
#define THREADS 4

static void work_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static void recurse(int depth)
{
    roofline_region_begin("recursive");
    work_ms(2);
    if (depth > 1)
        recurse(depth - 1);
    roofline_region_end("recursive");
}

static void *in_thread(void *unused)
{
    roofline_region_begin("threads");
    work_ms(20);
    roofline_region_end("threads");
    return unused;
}

static void name_in_a_buffer(int i)
{
    char name[16];
    snprintf(name, sizeof name, "buffer%d", i % 2);
    roofline_region_begin(name);
    roofline_region_end(name);
}

int main(void)
{
    pthread_t thread[THREADS];
    roofline_region_begin("outer");
    work_ms(5);
    roofline_region_begin("inner");
    work_ms(10);
    roofline_region_end("inner");
    roofline_region_end("outer");
    recurse(3);
    roofline_region_begin("first");
    roofline_region_begin("second");
    work_ms(1);
    roofline_region_end("first");
    roofline_region_end("second");
    roofline_region_end("never begun");
    roofline_region_begin("never ended");
    roofline_region_begin(NULL);
    for (int i = 0; i < MANY; i++) {
        roofline_region_begin("many");
        roofline_region_end("many");
    }
    for (int i = 0; i < 10; i++)
        name_in_a_buffer(i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, in_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (fork() == 0) {
        roofline_region_begin("child");
        work_ms(1);
        roofline_region_end("child");
        _exit(0);
    }
    wait(NULL);
    return 0;
}
