/* deny_wx COMMAND…: run a command in a world where no memory may be writable and executable, as
 * under strict SELinux policies. Ends with 77 where the kernel cannot. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
enum { REFUSE_EXEC_GAIN = 1, SKIP = 77 };

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)) {
        puts("skipped: this kernel has no PR_SET_MDWE");
        return SKIP;
    }
    execvp(argv[1], argv + 1);
    return 1;
}
