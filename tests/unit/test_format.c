/* Records on disk: nothing is lost on the way, and nothing hostile gets in. */
#include "../support/cmocka_all.h"
#include "../support/machines.h"
#include "base/file.h"

#include <locale.h>
#include <roofline/format.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rl_profile sample_profile(void)
{
    struct rl_profile p = {0};
    struct rl_kernel *k;
    const char *command[] = {"./app", "--n", "10"};
    rl_profile_set_command(&p, command, 3, NULL);
    p.elapsed_s = rl_value(1.25, RL_SOURCE_MEASURED, 0.02);
    p.has_exit_status = true;
    p.exit_status = 3;
    rl_profile_add(&p, RL_KIND_LOOP, "triad \"x\"\n\xc3\xa9", &k, NULL);
    k->line = 12;
    struct rl_op_count ops = {.precision = RL_FP64, .op = RL_OP_FMA, .isa = "avx2"};
    ops.count = rl_value(9007199254740991.0, RL_SOURCE_COUNTED, 0); /* 2^53 - 1: exact or lost */
    rl_kernel_add_ops(k, &ops, NULL);
    struct rl_traffic *t;
    rl_kernel_traffic(k, "DRAM", &t, NULL);
    t->bytes = rl_value(1e9 / 3, RL_SOURCE_SIMULATED, 0.03);
    rl_kernel_set_parameter(k, "n", "1000", NULL);
    rl_missing_add(&k->missing, "bytes.L2", "not simulated", NULL);
    rl_profile_note(&p, NULL, "counted in %d runs", 2);
    return p;
}

static void a_machine_survives_the_round_trip(void **state)
{
    (void)state;
    struct rl_machine m = test_machine(), back;
    struct rl_error err = {0};
    char *first, *second;
    assert_int_equal(rl_machine_print(&m, &first, &err), RL_OK);
    assert_int_equal(rl_machine_parse(first, strlen(first), "mem", &back, &err), RL_OK);
    assert_int_equal(rl_machine_print(&back, &second, &err), RL_OK);
    assert_string_equal(first, second);
    assert_int_equal(back.n_compute, m.n_compute);
    assert_true(rl_machine_compute(&back, "fp64.fma.avx2@2")->rate.value == 100e9);
    free(first);
    free(second);
    rl_machine_release(&m);
    rl_machine_release(&back);
}

static void a_profile_survives_the_round_trip_with_exact_counts(void **state)
{
    (void)state;
    struct rl_profile p = sample_profile(), back;
    struct rl_error err = {0};
    char *text;
    assert_int_equal(rl_profile_print(&p, &text, &err), RL_OK);
    assert_int_equal(rl_profile_parse(text, strlen(text), "mem", &back, &err), RL_OK);
    const struct rl_kernel *k = &back.kernel[0];
    assert_string_equal(k->name, p.kernel[0].name);
    assert_int_equal(k->kind, RL_KIND_LOOP);
    assert_true(k->ops[0].count.value == 9007199254740991.0);
    assert_true(rl_known(k->traffic[0].bytes) && k->traffic[0].bytes.source == RL_SOURCE_SIMULATED);
    assert_false(rl_known(k->traffic[0].read));
    assert_string_equal(k->missing.item[0].why, "not simulated");
    assert_string_equal(back.note[0], "counted in 2 runs");
    assert_string_equal(back.command[1], "--n");
    assert_int_equal(back.exit_status, 3);
    free(text);
    rl_profile_release(&p);
    rl_profile_release(&back);
}

/* Programs, regions and files may have names of any bytes, a record is UTF-8. */
static void names_of_any_bytes_are_written_and_stay_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"", "bad\xff", "bad\xfe", "caf\xe9", "\xed\xa0\x80"};
    static const char *const read[] = {"", "bad\\xff", "bad\\xfe", "caf\\xe9", "\\xed\\xa0\\x80"};
    struct rl_profile p = sample_profile(), back;
    struct rl_error err = {0};
    struct rl_kernel *k;
    char *text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(rl_profile_add(&p, RL_KIND_REGION, names[i], &k, &err), RL_OK);
        assert_int_equal(rl_missing_add(&k->missing, "flop", names[i], &err), RL_OK);
        assert_int_equal(rl_profile_note(&p, &err, "region %s", names[i]), RL_OK);
    }
    assert_int_equal(rl_profile_print(&p, &text, &err), RL_OK);
    if (rl_profile_parse(text, strlen(text), "mem", &back, &err) != RL_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_string_equal(back.kernel[1 + i].name, read[i]);
        assert_string_equal(back.kernel[1 + i].missing.item[0].why, read[i]);
        assert_string_equal(back.note[1 + i] + strlen("region "), read[i]);
    }
    free(text);
    rl_profile_release(&p);
    rl_profile_release(&back);
}

static void keys_of_a_later_version_are_kept(void **state)
{
    (void)state;
    const char *text =
        "{\"schema\": \"roofline-machine/1\", \"later\": [1, 2], \"cpu\": {\"vendor\": "
        "\"x\", \"stepping_name\": \"B1\"}, \"memory\": [{\"level\": \"L1\", "
        "\"pattern\": \"load\", \"threads\": 1, \"colour\": \"red\"}]}";
    struct rl_machine m;
    struct rl_error err = {0};
    char *out;
    assert_int_equal(rl_machine_parse(text, strlen(text), "mem", &m, &err), RL_OK);
    assert_int_equal(rl_machine_print(&m, &out, &err), RL_OK);
    assert_non_null(strstr(out, "\"later\""));
    assert_non_null(strstr(out, "\"stepping_name\": \"B1\""));
    assert_non_null(strstr(out, "\"colour\": \"red\""));
    free(out);
    rl_machine_release(&m);
}

struct refusal {
    const char *text;
    const char *says;
};

static const struct refusal refusals[] = {
    {"", "is empty"},
    {"  \n", "is empty"},
    {"{\"schema\": \"roofline-machine/1\", \"compute\": [", "line 1"},
    {"{}", "no \"schema\" key"},
    {"[1]", "no \"schema\" key"},
    {"{\"schema\": 7}", "no \"schema\" key"},
    {"{\"schema\": \"roofline-machine/2\"}", "another version"},
    {"{\"schema\": \"roofline-profile/1\"}", "where \"roofline-machine/1\" is needed"},
    {"{\"schema\": \"roofline-machine/1\", \"compute\": 3}", "compute: must be a list"},
    {"{\"schema\": \"roofline-machine/1\", \"compute\": [{\"op\": \"fma\"}]}",
     "compute[0].precision: is missing"},
    {"{\"schema\": \"roofline-machine/1\", \"compute\": [{\"precision\": \"fp65\"}]}",
     "does not know"},
    {"{\"schema\": \"roofline-machine/1\", \"memory\": [{\"level\": \"L1\", \"threads\": -1}]}",
     "memory[0].threads"},
    {"{\"schema\": \"roofline-machine/1\", \"memory\": [{\"rate\": {\"value\": \"x\"}}]}",
     "memory[0].rate"},
    {"{\"schema\": \"roofline-machine/1\", \"memory\": [{\"rate\": {\"value\": 1, \"source\": "
     "\"guessed\"}}]}",
     "source that is not known"},
    {"{\"schema\": \"roofline-machine/1\", \"memory\": [{\"id\": \"a\"}, {\"id\": \"a\"}]}",
     "stands twice"},
    {"{\"schema\": \"roofline-machine/1\", \"memory\": [{\"level\": "
     "\"a level name that is far too long to be one\"}]}",
     "too long"},
    {"{\"schema\": \"roofline-machine/1\", \"cpu\": []}", "must be an object"},
    {"{\"schema\": \"roofline-machine/1\", \"name\": \"a\", \"name\": \"b\"}", "line 1"},
};

static void every_broken_record_is_refused_by_file_and_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct rl_machine m;
        struct rl_error err = {0};
        enum rl_status status =
            rl_machine_parse(refusals[i].text, strlen(refusals[i].text), "m.json", &m, &err);
        assert_int_equal(status, RL_EDATA);
        assert_non_null(strstr(err.text, "m.json"));
        if (!strstr(err.text, refusals[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, refusals[i].says);
    }
}

static void every_cut_of_a_record_is_refused_without_a_crash(void **state)
{
    (void)state;
    struct rl_profile p = sample_profile(), back;
    char *text;
    assert_int_equal(rl_profile_print(&p, &text, NULL), RL_OK);
    for (size_t n = 0; n + 2 < strlen(text); n++)
        assert_int_equal(rl_profile_parse(text, n, "cut", &back, NULL), RL_EDATA);
    free(text);
    rl_profile_release(&p);
}

static void numbers_keep_their_dot_in_a_comma_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    struct rl_profile p = sample_profile(), back;
    char *text;
    assert_int_equal(rl_profile_print(&p, &text, NULL), RL_OK);
    assert_non_null(strstr(text, "1.25"));
    assert_int_equal(rl_profile_parse(text, strlen(text), "mem", &back, NULL), RL_OK);
    assert_true(back.elapsed_s.value == 1.25);
    setlocale(LC_NUMERIC, "C");
    free(text);
    rl_profile_release(&p);
    rl_profile_release(&back);
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/rl_format_XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/m.json", folder);
    struct rl_machine m = test_machine(), back;
    struct rl_error err = {0};
    assert_int_equal(rl_machine_write(path, &m, &err), RL_OK);
    assert_int_equal(rl_machine_read(path, &back, &err), RL_OK);
    assert_int_equal(rl_machine_write("/dev/full", &m, &err), RL_ESYS);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(rl_machine_write("/proc/self/nonexistent/m.json", &m, &err), RL_ESYS);
    assert_int_equal(rl_machine_write(folder, &m, &err), RL_ESYS);
    enum rl_record_kind kind;
    assert_int_equal(rl_record_kind(path, &kind, &err), RL_OK);
    assert_int_equal(kind, RL_RECORD_MACHINE);
    /* Records of other hands may have their schema anywhere, and of other versions are known too.
     */
    static const char late[] = "{\"name\": \"x\",\n \"schema\": \"roofline-profile/2\"}";
    assert_int_equal(rl_file_write(path, late, sizeof late - 1, &err), RL_OK);
    assert_int_equal(rl_record_kind(path, &kind, &err), RL_OK);
    assert_int_equal(kind, RL_RECORD_PROFILE);
    static const char foreign[] = "{\"schema\": \"other/1\"}";
    assert_int_equal(rl_file_write(path, foreign, sizeof foreign - 1, &err), RL_OK);
    assert_int_equal(rl_record_kind(path, &kind, &err), RL_EDATA);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing temporary is left */
    rl_machine_release(&m);
    rl_machine_release(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_survives_the_round_trip),
        cmocka_unit_test(a_profile_survives_the_round_trip_with_exact_counts),
        cmocka_unit_test(names_of_any_bytes_are_written_and_stay_apart),
        cmocka_unit_test(keys_of_a_later_version_are_kept),
        cmocka_unit_test(every_broken_record_is_refused_by_file_and_key),
        cmocka_unit_test(every_cut_of_a_record_is_refused_without_a_crash),
        cmocka_unit_test(numbers_keep_their_dot_in_a_comma_locale),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
