/* Run-times that name what they compile only if they are told to. */
#include "../support/cmocka_all.h"

#include "profile/jit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No process has this number: the kernel's most is 2^22. */
#define NOBODY 2000000001

static bool is_told(const char *command, int32_t pid, enum rl_sample_module_kind kind)
{
    struct rl_error err = {0};
    struct rl_profile profile = {0};
    struct rl_sample_process processes[] = {{.pid = 1, .command = (char *)"/bin/sh"},
                                            {.pid = pid, .command = (char *)command}};
    struct rl_sample_module module = {.kind = kind, .path = (char *)"[jit]", .process = 1};
    struct rl_samples samples = {
        .process = processes, .n_process = 2, .module = &module, .n_module = 1};
    assert_int_equal(jit_note(&samples, &profile, &err), RL_OK);
    bool told = profile.n_note == 1 && strstr(profile.note[0], "--perf-basic-prof") != NULL;
    assert_true(told || profile.n_note == 0);
    rl_profile_release(&profile);
    return told;
}

static void node_has_to_be_told_to_name_its_code(void **state)
{
    (void)state;
    assert_true(is_told("/usr/bin/node", NOBODY, RL_SAMPLE_JIT));
    assert_true(is_told("node", NOBODY, RL_SAMPLE_JIT));
    assert_false(is_told("/usr/bin/node", NOBODY, RL_SAMPLE_FILE));
    assert_false(is_told("/usr/bin/nodes", NOBODY, RL_SAMPLE_JIT));
    assert_false(is_told(NULL, NOBODY, RL_SAMPLE_JIT));
}

static void node_that_was_told_is_not_told_again(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    assert_non_null(map);
    fclose(map);
    bool told = is_told("/usr/bin/node", (int32_t)getpid(), RL_SAMPLE_JIT);
    unlink(path);
    assert_false(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_has_to_be_told_to_name_its_code),
        cmocka_unit_test(node_that_was_told_is_not_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
