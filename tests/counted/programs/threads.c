/* Four threads and a child process share one kernel. Prints function, precision, FLOP. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, N = 20000 };

static double x[THREADS][N];

__attribute__((noinline)) void *saxpy(void *arg)
{
    double *row = arg;
    for (int i = 0; i < N; i++)
        row[i] = row[i] * 1.5 + 2.0;
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, saxpy, x[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        saxpy(x[0]);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("saxpy\tfp64\t%d\n", (THREADS + 1) * 2 * N);
    return 0;
}
