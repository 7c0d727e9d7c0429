/* The regions that tests/programs/markers marks once each by the interfaces of other tools. */
#ifndef RL_TESTS_MARKERS_H
#define RL_TESTS_MARKERS_H

static const char *const marked[] = {"likwid",
                                     "papi",
                                     "caliper",
                                     "nvtx2",
                                     "itt",
                                     "nvtx3",
                                     "nvtx3 wide \u03b1\u20ac\U0001F600",
                                     "nvtx3 domain",
                                     "nvtx3 domain wide",
                                     "nvtx3 registered",
                                     "nvtx3 second"};

#endif
