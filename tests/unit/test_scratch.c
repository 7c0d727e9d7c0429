/* Folders for the files of a run: one's own stays, those of the dead go. */
#include "base/scratch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/cmocka_all.h"

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void put_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/* A process makes a folder with a file in it and is killed. */
static void die_with_folder(const char *under, char path[256])
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct rl_scratch scratch;
        struct rl_error err = {0};
        if (rl_scratch_make(under, &scratch, &err))
            _exit(1);
        put_file(scratch.path, "counts");
        (void)!write(fds[1], scratch.path, sizeof scratch.path);
        raise(SIGKILL);
    }
    assert_int_equal(read(fds[0], path, 256), 256);
    waitpid(pid, NULL, 0);
    close(fds[0]);
    close(fds[1]);
}

static void folders_of_the_dead_are_removed_by_the_next(void **state)
{
    char dead[256], other[300];
    struct rl_scratch mine, more;
    struct rl_error err = {0};
    die_with_folder(*state, dead);
    assert_true(exists(dead));
    snprintf(other, sizeof other, "%s/roofline-notes", (const char *)*state);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(rl_scratch_make(*state, &mine, &err), RL_OK);
    assert_false(exists(dead));
    assert_int_equal(rl_scratch_make(*state, &more, &err), RL_OK);
    assert_true(exists(mine.path));
    assert_true(exists(other));
    put_file(mine.path, "counts");
    rl_scratch_remove(&mine);
    rl_scratch_remove(&more);
    assert_int_equal(rmdir(other), 0);
    assert_int_equal(rmdir(*state), 0);
    assert_int_equal(mkdir(*state, 0700), 0);
}

static void the_path_holds_wherever_the_program_goes(void **state)
{
    struct rl_scratch mine;
    struct rl_error err = {0};
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(rl_scratch_make(".", &mine, &err), RL_OK);
    assert_int_equal(chdir("/"), 0);
    assert_true(exists(mine.path));
    rl_scratch_remove(&mine);
    assert_int_equal(chdir(before), 0);
    free(before);
}

/* In another process namespace the number says nothing, the lock does. */
static void a_locked_folder_stays_whatever_its_number(void **state)
{
    char dead[256];
    struct rl_scratch mine, more;
    struct rl_error err = {0};
    assert_int_equal(rl_scratch_make(*state, &mine, &err), RL_OK);
    die_with_folder(*state, dead);
    char renamed[256];
    snprintf(renamed, sizeof renamed, "%.*sabcdef", (int)(strlen(dead) - 6), dead);
    assert_int_equal(rename(mine.path, renamed), 0);
    assert_int_equal(rl_scratch_make(*state, &more, &err), RL_OK);
    assert_true(exists(renamed));
    assert_false(exists(dead));
    snprintf(mine.path, sizeof mine.path, "%s", renamed);
    rl_scratch_remove(&mine);
    rl_scratch_remove(&more);
}

static void without_a_place_it_says_so(void **state)
{
    (void)state;
    struct rl_scratch mine;
    struct rl_error err = {0};
    assert_int_equal(rl_scratch_make("/proc/self/nonexistent/place", &mine, &err), RL_ESYS);
    assert_non_null(strstr(err.text, "/proc/self/nonexistent/place"));
    rl_scratch_remove(&mine);
}

static void a_file_is_linked_where_its_path_cannot_be_in_a_list(void **state)
{
    static const char *const special[] = {"/a b/x.so", "/a:b/x.so", "/$ORIGIN/x.so", "/a\tb/x.so"};
    struct rl_scratch mine;
    struct rl_error err = {0};
    char *path = NULL, target[64], folder[300];
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        assert_int_equal(rl_scratch_make(*state, &mine, &err), RL_OK);
        assert_int_equal(rl_scratch_name(&mine, special[i], &path, &err), RL_OK);
        assert_int_equal(strncmp(path, mine.path, strlen(mine.path)), 0);
        ssize_t n = readlink(path, target, sizeof target - 1);
        assert_int_equal(n, strlen(special[i]));
        assert_memory_equal(target, special[i], (size_t)n);
        rl_scratch_remove(&mine);
        assert_false(exists(path));
        free(path);
    }
    assert_int_equal(rl_scratch_make(*state, &mine, &err), RL_OK);
    assert_int_equal(rl_scratch_name(&mine, "/usr/lib/x.so", &path, &err), RL_OK);
    assert_string_equal(path, "/usr/lib/x.so");
    free(path);
    rl_scratch_remove(&mine);
    snprintf(folder, sizeof folder, "%s/a b", (const char *)*state);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(rl_scratch_make(folder, &mine, &err), RL_OK);
    assert_int_equal(rl_scratch_name(&mine, "/a b/x.so", &path, &err), RL_EUNAVAIL);
    assert_non_null(strstr(err.text, "/a b/x.so cannot be preloaded"));
    rl_scratch_remove(&mine);
    rmdir(folder);
}

static int make_parent(void **state)
{
    static char parent[] = "/tmp/rl_scratch_XXXXXX";
    *state = mkdtemp(parent);
    return *state ? 0 : -1;
}

static int remove_parent(void **state)
{
    return rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_the_dead_are_removed_by_the_next),
        cmocka_unit_test(a_locked_folder_stays_whatever_its_number),
        cmocka_unit_test(the_path_holds_wherever_the_program_goes),
        cmocka_unit_test(without_a_place_it_says_so),
        cmocka_unit_test(a_file_is_linked_where_its_path_cannot_be_in_a_list),
    };
    return cmocka_run_group_tests(tests, make_parent, remove_parent);
}
