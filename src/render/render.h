/* Showing a report; the contract is public. */
#ifndef RL_RENDER_RENDER_H
#define RL_RENDER_RENDER_H

#include <roofline/render.h>

#endif
