/* Status codes and the error message every fallible function of libroofline can fill. */
#ifndef ROOFLINE_ERROR_H
#define ROOFLINE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum rl_status {
    RL_OK = 0,
    RL_EINVAL = -1,   /**< the caller passed something outside a function's domain */
    RL_EDATA = -2,    /**< a file or stream does not hold what it should */
    RL_ENODATA = -3,  /**< a record lacks the value that was asked for */
    RL_EUNAVAIL = -4, /**< this machine, or this build, cannot do it */
    RL_ESYS = -5,     /**< the operating system refused; the text holds strerror(errno) */
    RL_ENOMEM = -6,   /**< no memory */
    RL_ECANCEL = -7,  /**< interrupted by the user; nothing was left behind */
};

/** A message for people: what failed, on which object, and what to do. All-zero is valid and empty.
 */
struct rl_error {
    enum rl_status status;
    char text[512];
};

#ifdef __cplusplus
}
#endif

#endif
