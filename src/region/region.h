/* Inside the region library, for the interfaces of other tools: what the public header lacks. */
#ifndef RL_REGION_REGION_H
#define RL_REGION_REGION_H

/** End whatever region this thread began last, for interfaces whose end has no name. */
void region_end_innermost(void);

#endif
