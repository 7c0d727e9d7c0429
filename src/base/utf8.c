#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned rl_utf8_decode(const char *text, uint32_t *ret_code)
{
    const unsigned char *u = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned length = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    if (length == 0 || u[0] > 0xf4)
        return 0;
    uint32_t code = length == 1 ? u[0] : u[0] & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (u[i] & 0x3f);
    }
    if (length > 1 && (code < least[length] || code > 0x10ffff || (code & ~0x7ffu) == 0xd800))
        return 0;
    *ret_code = code;
    return length;
}

char *rl_utf8_spelled(const char *text)
{
    char *copy = malloc(strlen(text) * 4 + 1);
    char *to = copy;
    while (copy && *text) {
        uint32_t code;
        unsigned length = rl_utf8_decode(text, &code);
        if (length)
            memcpy(to, text, length);
        else
            snprintf(to, 5, "\\x%02x", (unsigned char)*text);
        to += length ? length : 4;
        text += length ? length : 1;
    }
    if (copy)
        *to = 0;
    return copy;
}
