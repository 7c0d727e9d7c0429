#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void
set_text(struct rl_error *err, enum rl_status status, const char *fmt, va_list args)
{
    err->status = status;
    int n = vsnprintf(err->text, sizeof err->text, fmt, args);
    if (n >= (int)sizeof err->text)
        memcpy(err->text + sizeof err->text - sizeof "…", "…", sizeof "…");
}

enum rl_status rl_fail(struct rl_error *err, enum rl_status status, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        set_text(err, status, fmt, args);
        va_end(args);
    }
    return status;
}

enum rl_status rl_fail_errno(struct rl_error *err, const char *fmt, ...)
{
    int saved = errno;
    if (err) {
        char what[sizeof err->text];
        va_list args;
        va_start(args, fmt);
        vsnprintf(what, sizeof what, fmt, args);
        va_end(args);
        rl_fail(err, RL_ESYS, "%s: %s", what, strerror(saved));
    }
    return RL_ESYS;
}

enum rl_status rl_fail_within(struct rl_error *err, enum rl_status status, const char *fmt, ...)
{
    if (err) {
        char context[sizeof err->text];
        char inner[sizeof err->text];
        va_list args;
        va_start(args, fmt);
        vsnprintf(context, sizeof context, fmt, args);
        va_end(args);
        memcpy(inner, err->text, sizeof inner);
        rl_fail(err, status, "%s: %s", context, inner);
    }
    return status;
}
