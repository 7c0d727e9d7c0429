/* Restartable sequences are recognised by the kernel by their program address, where translated
 * code never is: an interrupted one would not be restarted. So the program is to believe that the
 * kernel has none. */
#ifndef RL_COUNT_ENGINE_RSEQ_H
#define RL_COUNT_ENGINE_RSEQ_H

#include <stdbool.h>
#include <stdint.h>

/** A registration. */
struct rle_rseq {
    uint64_t area; /**< 0: none */
    uint32_t bytes;
    uint32_t signature;
};

/**
 * Take back the registration that the C library made for the calling thread before take-over.
 *
 * @return true if it is gone and the library knows, so that further registrations may be refused;
 *         false if none was found: the library must then be let have its way.
 */
bool rle_rseq_withdraw(void);

/** Take a registration that is known from the calling thread, and give it back. */
void rle_rseq_take(const struct rle_rseq *rseq);
void rle_rseq_return(const struct rle_rseq *rseq);

/** The program's system call, by its arguments: what it asks for is noted for rle_rseq_return.
 * @return what the call does. */
long rle_rseq_defer(struct rle_rseq *rseq, const long *args);

#endif
