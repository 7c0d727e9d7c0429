#include "workload/mtx.h"

#include <roofline/error.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_BYTES = 64 << 20 };
    struct rl_mtx matrix = {0};
    struct rl_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (rl_mtx_parse(text, size, "fuzz", MOST_BYTES, &matrix, &err) == RL_OK) {
        for (uint64_t k = 0; k < matrix.n; k++)
            if (matrix.column[k] >= matrix.columns)
                abort();
        if (matrix.row_start[matrix.rows] != matrix.n)
            abort();
    } else if (!err.text[0] || strstr(err.text, "CHOLMOD cannot read")) {
        abort(); /* a refusal without a reason, or one that our own check should have given */
    }
    rl_mtx_release(&matrix);
    free(text);
    return 0;
}
