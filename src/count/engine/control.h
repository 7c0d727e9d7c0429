/* How a launcher and the engine in a running process talk: one structure in the engine's memory,
 * which the launcher finds through the word in front of the engine's entry point, and reads and
 * writes from outside.
 *
 * Invariant: while nobody is between two states, either every thread of the process is under the
 * engine and the kernel knows the engine's signal handlers, or none is and it knows the program's.
 * Threads on their way in or out wait for each other, in the engine, with all signals blocked;
 * should the launcher die meanwhile they give up after a while and go back to where they came from.
 */
#ifndef RL_COUNT_ENGINE_CONTROL_H
#define RL_COUNT_ENGINE_CONTROL_H

#include <stdint.h>

#include "count/engine/options.h"

#define RLE_CONTROL_MAGIC   "RLENGCTL"
#define RLE_CONTROL_VERSION 3u

/** `state`. The launcher makes OUT or ABORTED to GATHERING, and IN to LEAVING; the engine does all
 * else. While all threads are in system calls LEAVING lasts, and may become GATHERING again. */
enum rle_presence {
    RLE_PRESENCE_OUT = 0,       /**< the program runs natively, though threads that wait in a system
                                     call since before may still have to leave the engine */
    RLE_PRESENCE_GATHERING = 1, /**< threads that were redirected arrive */
    RLE_PRESENCE_OPENING = 2,   /**< all are there: handlers are being installed */
    RLE_PRESENCE_IN = 3,
    RLE_PRESENCE_LEAVING = 4, /**< threads gather to leave */
    RLE_PRESENCE_ABORTED = 5, /**< `message` says why; as OUT */
    RLE_PRESENCE_FIXED = 6,   /**< counted from its start, or the engine had to leave for a reason
                                   of its own: not to be attached to */
    RLE_PRESENCE_CLOSING = 7, /**< from LEAVING to OUT: the program's handlers are put back, so that
                                   no thread must be asked to leave; or back to LEAVING */
};

/** Where one thread is to be taken over; written by the launcher. A stack follows it. */
struct rle_attach_slot {
    uint64_t reg[16]; /**< by hardware number */
    uint64_t rflags;
    uint64_t pc;
    uint64_t mask;           /**< blocked signals */
    uint64_t rseq;           /**< address of its restartable sequences' area, 0: none … */
    uint32_t rseq_bytes;     /**< … its size … */
    uint32_t rseq_signature; /**< … and signature */
    uint32_t waits;          /**< enum rle_waits */
    uint32_t pad;
};

/** A thread stands in front of a system call out of which it was taken, and what a signal handler
 * that runs before it is made again leaves for the call. */
enum rle_waits {
    RLE_WAITS_NOT = 0,         /**< it is an ordinary call: it is made after the handler */
    RLE_WAITS_RESTARTABLE = 1, /**< EINTR, unless the handler has SA_RESTART */
    RLE_WAITS_FOR_SIGNAL = 2,  /**< EINTR */
};

/** Distance between slots; what a slot does not need is the stack of its thread's first steps. */
#define RLE_ATTACH_SLOT_BYTES (64u << 10)

#define RLE_ARGUMENTS_MAX 4096

struct rle_control {
    char magic[8]; /**< RLE_CONTROL_MAGIC, no terminator */
    uint32_t version;
    uint32_t ready;       /**< set by the launcher when the object is mapped and relocated */
    uint32_t state;       /**< enum rle_presence */
    uint32_t detaching;   /**< every thread leaves at its next dispatch */
    uint32_t expected;    /**< threads that were redirected … */
    uint32_t arrived;     /**< … and that have come */
    uint32_t prepared;    /**< one of them has prepared the engine; 0 before */
    uint32_t wanted;      /**< 1 while the launcher wants threads in that come by without being
                               redirected, out of a system call that they entered before */
    uint64_t enter;       /**< where a redirected thread begins: rdi its slot, rsp its stack */
    uint64_t syscall_end; /**< address behind the instruction that makes the program's calls */
    uint64_t object_start, object_end;
    uint64_t in_use_at; /**< offset of rle_thread.in_use in a thread's block … */
    uint64_t waits_at;  /**< … of rle_thread.waits … */
    uint64_t tid_at;    /**< … and of rle_thread.tid */
    uint64_t slots;     /**< memory for `n_slots`; 0: none yet */
    uint64_t n_slots;
    uint64_t owner;            /**< process that counts in bursts; 0: it is to stay in */
    uint64_t session;          /**< attaching with the same number goes on in the same result */
    uint64_t process_start_ns; /**< CLOCK_MONOTONIC */
    uint64_t has_fsgsbase;
    uint64_t last_session; /**< engine */
    char message[256];     /**< terminated */
    char options[RLE_OPTIONS_TEXT_MAX];
    char object_path[RLE_OUTPUT_MAX];
    uint32_t arguments_bytes;
    char arguments[RLE_ARGUMENTS_MAX]; /**< each with a terminator */
};

/** What a kick's siginfo holds beside signal SIGTRAP and code SI_QUEUE: its value is the mask that
 * the thread had before the signal was unblocked for it. */
#define RLE_KICK_ERRNO 0x526C6B

#endif
