#include "count/result.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_result result;
    struct rl_error err = {0};
    if (rl_result_parse(data, size, "fuzz", &result, &err)) {
        if (!err.text[0])
            abort(); /* a refusal without a reason */
        return 0;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < result.n_pieces; i++)
        for (uint32_t k = 0; k < result.pieces[i].size; k++)
            sum += result.pieces[i].code[k];
    for (size_t i = 0; i < result.n_modules; i++)
        sum += (unsigned char)result.modules[i].path[0];
    rl_result_release(&result);
    return sum == 1; /* the reads must not be optimised away */
}
