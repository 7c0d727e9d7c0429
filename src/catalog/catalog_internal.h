/* Between the files of this folder. */
#ifndef RL_CATALOG_CATALOG_INTERNAL_H
#define RL_CATALOG_CATALOG_INTERNAL_H

#include "catalog/catalog.h"

/** Fill in `features` of every core. @return RL_OK; RL_EDATA naming file, core and word. */
enum rl_status rl_catalog_resolve_features(struct rl_catalog *catalog, const char *name,
                                           struct rl_error *err);

#endif
