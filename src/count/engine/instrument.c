#include "count/engine/instrument.h"

const struct rle_instrument rle_instrument_none = {.name = "none"};
