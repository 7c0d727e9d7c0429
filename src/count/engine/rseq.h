/* Restartable sequences are recognised by the kernel by their program address, where translated
 * code never is: an interrupted one would not be restarted. So the program is to believe that the
 * kernel has none. */
#ifndef RL_COUNT_ENGINE_RSEQ_H
#define RL_COUNT_ENGINE_RSEQ_H

#include <stdbool.h>

/**
 * Take back the registration that the C library made for the calling thread before take-over.
 *
 * @return true if it is gone and the library knows, so that further registrations may be refused;
 *         false if none was found: the library must then be let have its way.
 */
bool rle_rseq_withdraw(void);

#endif
