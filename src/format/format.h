/* Records <-> JSON: the only module that knows the keys. The contract is public. */
#ifndef RL_FORMAT_FORMAT_H
#define RL_FORMAT_FORMAT_H

#include <roofline/format.h>

#endif
