/* libpfm4, loaded at run time: names of events to what the kernel wants. */
#ifndef RL_COUNT_PERF_EVENT_PFM_H
#define RL_COUNT_PERF_EVENT_PFM_H

#include <roofline/error.h>

struct perf_event_attr;

/** Is it here? @return RL_OK; RL_EUNAVAIL with the line that installs it. */
enum rl_status rl_pfm_probe(struct rl_error *err);

/**
 * Encode an event.
 *
 * @param name      as libpfm4 writes it.
 * @param ret_attr  type, configuration and the levels of privilege to leave out; the rest zero.
 * @return RL_OK; RL_EINVAL for a name not known here, with near ones; RL_EUNAVAIL without libpfm4.
 */
enum rl_status rl_pfm_encode(const char *name, struct perf_event_attr *ret_attr,
                             struct rl_error *err);

#endif
