/* A program that is not to be followed is tried in vain first, and executed a while later: what
 * runs uncounted begins then. */
#include <stdio.h>
#include <unistd.h>

enum { STATUS = 6, CANNOT = 9 };

int main(int argc, char **argv)
{
    char *again[] = {argv[0], "again", NULL};
    if (argc > 1)
        return STATUS;
    execv("/nonexistent", again);
    usleep(200000);
    fprintf(stderr, "expect uncounted 4 1 0\nexpect late 4 1\n");
    execv(argv[0], again);
    return CANNOT;
}
