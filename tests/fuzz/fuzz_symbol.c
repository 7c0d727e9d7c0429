#include "symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_symbols *symbols;
    struct rl_symbol_module *module;
    const struct rl_symbols_options options = {.debug_dir = "/nonexistent"};
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rl_symbols_new(&options, &symbols, NULL) ||
        rl_symbols_open(symbols, path, NULL, 0, &module, NULL))
        abort();
    for (uint64_t at = 0; at < 0x800; at += 16) {
        struct rl_function function;
        struct rl_source_line line;
        struct rl_inline_call calls[4];
        rl_symbol_function(module, at, &function);
        if (!function.name || function.begin > at || function.end <= at)
            abort(); /* an answer that does not hold what was asked for */
        rl_symbol_line(module, at, &line);
        rl_symbol_inlined(module, at, calls, 4);
    }
    rl_symbols_free(symbols);
    close(fd);
    return 0;
}
