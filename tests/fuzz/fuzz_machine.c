#include <roofline/format.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_machine machine;
    struct rl_error err = {0};
    if (rl_machine_parse((const char *)data, size, "fuzz", &machine, &err) == RL_OK) {
        char *text = NULL;
        if (rl_machine_print(&machine, &text, &err) == RL_OK)
            free(text);
        rl_machine_release(&machine);
    } else if (!err.text[0]) {
        abort(); /* a refusal without a reason */
    }
    return 0;
}
