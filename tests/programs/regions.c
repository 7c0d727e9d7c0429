/* Regions in every shape: nested, recursive, overlapping, unended, ended without a begin, in
 * threads, of which one is cancelled inside two, and in a forked child. */
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

static void *until_cancelled(void *barrier)
{
    roofline_region_begin("around cancelled");
    roofline_region_begin("cancelled");
    work_ms(5);
    pthread_barrier_wait(barrier);
    for (;;)
        work_ms(1000);
    return NULL;
}

static void cancel_one(void)
{
    pthread_t thread;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, until_cancelled, &barrier);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
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
    cancel_one();
    if (fork() == 0) {
        roofline_region_begin("child");
        work_ms(1);
        roofline_region_end("child");
        _exit(0);
    }
    wait(NULL);
    return 0;
}
