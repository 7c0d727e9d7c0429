#include <roofline/format.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_profile profile;
    struct rl_error err = {0};
    if (rl_profile_parse((const char *)data, size, "fuzz", &profile, &err) == RL_OK) {
        char *text = NULL;
        if (rl_profile_print(&profile, &text, &err) == RL_OK)
            free(text);
        rl_profile_release(&profile);
    } else if (!err.text[0]) {
        abort(); /* a refusal without a reason */
    }
    return 0;
}
