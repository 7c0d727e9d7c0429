/* Filling struct rl_error: the one place where messages are formatted.
 *
 * A function that fails says `return rl_fail(err, RL_EDATA, "%s: line %u: …", …);`
 * and its callers pass the status up with RL_TRY. Messages name what, where and what to do next,
 * without a trailing full stop or newline. */
#ifndef RL_BASE_ERROR_H
#define RL_BASE_ERROR_H

#include <roofline/error.h>
#include <stdarg.h>

/**
 * Fill `err` (unless NULL) and return `status`, so that failing is one statement.
 *
 * @param err     may be NULL: the status alone is returned.
 * @param status  a negative rl_status.
 * @param fmt     printf format; a text longer than the buffer is cut with an ellipsis.
 */
enum rl_status rl_fail(struct rl_error *err, enum rl_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** As rl_fail with RL_ESYS, appending ": " and the text of errno as it was at the call. */
enum rl_status rl_fail_errno(struct rl_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Put "context: " in front of an existing message; returns err->status (RL_EINVAL when err is
 * NULL). */
enum rl_status rl_fail_within(struct rl_error *err, enum rl_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Evaluate a call that returns enum rl_status and return from the caller unless it is RL_OK. */
#define RL_TRY(call)                                                                               \
    do {                                                                                           \
        enum rl_status rl_try_status = (call);                                                     \
        if (rl_try_status != RL_OK)                                                                \
            return rl_try_status;                                                                  \
    } while (0)

#endif
