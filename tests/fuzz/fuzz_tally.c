#include "profile/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_tally tally;
    struct rl_error err = {0};
    char path[32];
    const char *file = path;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rl_tally_build(&file, 1, NULL, &tally, &err)) {
        if (!err.text[0])
            abort(); /* a refusal without a reason */
        close(fd);
        return 0;
    }
    for (size_t i = 0; i < tally.n_unit; i++) {
        const struct rl_tally_unit *unit = &tally.unit[i];
        uint32_t function, loop;
        if (unit->begin >= unit->end || !isfinite(unit->kernel.load_bytes.value))
            abort(); /* a unit that holds nothing, or a sum that means nothing */
        if (i && i < tally.n_function && unit[-1].module == unit->module &&
            unit[-1].end > unit->begin)
            abort(); /* functions that overlap */
        rl_tally_find(&tally, unit->module, unit->begin, &function, &loop);
        if (function == RL_TALLY_NONE)
            abort();
    }
    rl_tally_release(&tally);
    close(fd);
    return 0;
}
