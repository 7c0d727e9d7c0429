/* Matrix Market files are read whole or refused with the line that is wrong. */
#include "workload/mtx.h"
#include "workload/sparse.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PLENTY = 1 << 30 };

static enum rl_status parse(const char *text, struct rl_mtx *m, struct rl_error *err)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    enum rl_status status = rl_mtx_parse(copy, strlen(text), "a.mtx", PLENTY, m, err);
    free(copy);
    return status;
}

static void read_ok(const char *text, struct rl_mtx *m)
{
    struct rl_error err = {0};
    memset(m, 0, sizeof *m);
    enum rl_status status = parse(text, m, &err);
    if (status == RL_EUNAVAIL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    if (status != RL_OK)
        fail_msg("%s", err.text);
}

/* The matrix as a dense row-major array; absent entries 0, repeated ones summed. */
static void expand(const struct rl_mtx *m, double *dense)
{
    memset(dense, 0, m->rows * m->columns * sizeof *dense);
    for (size_t i = 0; i < m->rows; i++)
        for (uint64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
            dense[i * m->columns + m->column[k]] += m->value[k];
}

static void expect(const char *text, uint64_t stored, uint64_t n, const double *want)
{
    struct rl_mtx m;
    double dense[64];
    read_ok(text, &m);
    assert_int_equal(m.stored, stored);
    assert_int_equal(m.n, n);
    expand(&m, dense);
    for (size_t i = 0; i < m.rows * m.columns; i++)
        assert_true(dense[i] == want[i]);
    rl_mtx_release(&m);
}

#define BANNER "%%MatrixMarket matrix "

static void general_entries_stand_where_they_are(void **state)
{
    (void)state;
    expect(BANNER "coordinate real general\n% note\n\n2 3 3\n1 1 1.5\n2 3 -2e1\n1 2 4\n", 3, 3,
           (const double[]){1.5, 4, 0, 0, 0, -20});
}

static void symmetric_entries_are_mirrored_but_not_the_diagonal(void **state)
{
    (void)state;
    expect(BANNER "coordinate integer symmetric\n3 3 3\n1 1 7\n2 1 5\n3 2 6\n", 3, 5,
           (const double[]){7, 5, 0, 5, 0, 6, 0, 6, 0});
    /* The upper triangle does as well. */
    expect(BANNER "coordinate real symmetric\n2 2 2\n1 2 3\n2 2 1\n", 2, 3,
           (const double[]){0, 3, 3, 1});
}

/* A dense symmetric matrix of 4 rows stores 10 entries and multiplies 16. */
static void stored_and_expanded_entries_are_told_apart(void **state)
{
    (void)state;
    struct rl_mtx m;
    read_ok(BANNER "coordinate real symmetric\n4 4 10\n1 1 1\n2 1 1\n2 2 1\n3 1 1\n3 2 1\n3 3 1\n"
                   "4 1 1\n4 2 1\n4 3 1\n4 4 1\n",
            &m);
    assert_int_equal(m.stored, 10);
    assert_int_equal(m.n, 16);
    rl_mtx_release(&m);
}

static void skew_entries_are_mirrored_with_the_other_sign(void **state)
{
    (void)state;
    expect(BANNER "coordinate real skew-symmetric\n2 2 1\n2 1 3\n", 1, 2,
           (const double[]){0, -3, 3, 0});
}

static void entries_of_a_pattern_are_one(void **state)
{
    (void)state;
    expect(BANNER "coordinate pattern general\n2 2 2\n1 1\n2 1\n", 2, 2,
           (const double[]){1, 0, 1, 0});
    expect(BANNER "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", 2, 3,
           (const double[]){1, 1, 1, 0});
}

static void arrays_are_read_by_columns(void **state)
{
    (void)state;
    expect(BANNER "array real general\n2 3\n1\n2\n3\n4\n5\n6\n", 6, 6,
           (const double[]){1, 3, 5, 2, 4, 6});
    expect(BANNER "array real symmetric\n2 2\n1\n2\n3\n", 3, 4, (const double[]){1, 2, 2, 3});
}

static void a_matrix_without_entries_is_a_matrix(void **state)
{
    (void)state;
    expect(BANNER "coordinate real general\n2 2 0\n", 0, 0, (const double[]){0, 0, 0, 0});
}

static const struct {
    const char *text, *says;
} refused[] = {
    {"", "empty"},
    {"1 1 1\n", "line 1: not a Matrix Market file"},
    {BANNER "coordinate complex general\n1 1 1\n1 1 1 0\n", "line 1: complex"},
    {BANNER "coordinate real hermitian\n1 1 1\n1 1 1\n", "line 1: complex"},
    {BANNER "coordinate real odd\n1 1 1\n1 1 1\n", "line 1: the symmetry"},
    {BANNER "coordinate float general\n1 1 1\n1 1 1\n", "line 1: the field"},
    {BANNER "list real general\n1 1 1\n1 1 1\n", "line 1: the format"},
    {"%%MatrixMarket vector coordinate real general\n1 1\n1 1\n", "line 1: only objects"},
    {BANNER "coordinate real general\n", "line 1: the file ends"},
    {BANNER "coordinate real general\n% x\n^\n3 3 1\n1 1 1.0\n", "line 3: the size"},
    {BANNER "coordinate real general\n3 3\n1 1 1.0\n", "line 2: the size"},
    {BANNER "coordinate real general\n0 3 1\n1 1 1.0\n", "line 2: the matrix has no rows"},
    {BANNER "coordinate real general\n3 3 -1\n", "line 2: the size"},
    {BANNER "coordinate real general\n99999999999999999999 3 1\n1 1 1\n", "line 2: the size"},
    {BANNER "coordinate real general\n4294967296 3 1\n1 1 1\n", "line 2: more than 2^31"},
    {BANNER "coordinate real general\n9 9 1000000\n1 1 1\n", "line 2: more entries are announced"},
    {BANNER "array real general\n40000 50000\n1\n", "line 2: more entries are announced"},
    {BANNER "coordinate real symmetric\n2 3 1\n2 3 1.0\n", "line 2: a symmetric matrix"},
    {BANNER "coordinate real general\n3 3 4\n1 1 1.0\n2 2 2.0\n3 3 3.0\n", "line 5: the file ends"},
    {BANNER "coordinate real general\n3 3 1\n1 1 1.0\n2 2 2.0\n", "line 4: there are more"},
    {BANNER "coordinate real general\n3 3 1\n4 1 1.0\n", "line 3: the row"},
    {BANNER "coordinate real general\n3 3 1\n0 1 1.0\n", "line 3: the row"},
    {BANNER "coordinate real general\n3 3 1\n1 7 1.0\n", "line 3: the column"},
    {BANNER "coordinate real general\n3 3 1\n1 1\n", "line 3: the value is missing"},
    {BANNER "coordinate real general\n3 3 1\n1 1 x\n", "line 3: the value is not a number"},
    {BANNER "coordinate real general\n3 3 1\n1 1 1e999\n", "line 3: the value is not a finite"},
    {BANNER "coordinate real general\n3 3 1\n1 1 nan\n", "line 3: the value is not a finite"},
    {BANNER "coordinate integer general\n3 3 1\n1 1 1.5\n", "line 3: the value is not whole"},
    {BANNER "coordinate real general\n3 3 1\n1 1 1 1\n", "line 3: more than an entry"},
    {BANNER "coordinate real general\n3 3 1\n1.0 1 1\n", "line 3: not an entry"},
    {BANNER "coordinate real skew-symmetric\n3 3 1\n1 1 1\n", "line 3: an entry on the diagonal"},
    {BANNER "coordinate real symmetric\n3 3 2\n2 1 1\n1 3 1\n", "line 4: entries on both sides"},
    {BANNER "array pattern general\n1 1\n1\n", "line 1: an array"},
};

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct rl_mtx m = {0};
        struct rl_error err = {0};
        assert_int_equal(parse(refused[i].text, &m, &err), RL_EDATA);
        if (!strstr(err.text, refused[i].says) || strncmp(err.text, "a.mtx: ", 7) != 0)
            fail_msg("case %zu says: %s", i, err.text);
    }
}

static void an_overlong_line_is_refused(void **state)
{
    (void)state;
    char text[3000] = BANNER "coordinate real general\n% ";
    struct rl_mtx m = {0};
    struct rl_error err = {0};
    memset(text + strlen(text), 'x', 2000);
    strcat(text, "\n1 1 1\n1 1 1\n");
    assert_int_equal(parse(text, &m, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "line 2"));
}

static void a_matrix_beyond_the_memory_is_refused_unread(void **state)
{
    (void)state;
    struct rl_mtx m = {0};
    struct rl_error err = {0};
    char text[] = BANNER "coordinate real general\n2000000000 2 1\n1 1 1\n";
    assert_int_equal(rl_mtx_parse(text, strlen(text), "a.mtx", PLENTY, &m, &err), RL_ENOMEM);
}

/* Rows asked for one by one add up to the closed form. */
static void generated_rows_add_up(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 7};
    for (unsigned kind = RL_SPARSE_LAPLACE5; kind <= RL_SPARSE_RANDOM; kind++)
        for (size_t s = 0; s < 4; s++) {
            struct rl_sparse m;
            uint64_t n = 0;
            assert_int_equal(rl_sparse_generate(&m, (enum rl_sparse_kind)kind, sizes[s], 5, NULL),
                             RL_OK);
            for (size_t i = 0; i < m.rows; i++) {
                uint32_t column[32];
                double value[32], sum = 0;
                unsigned length = rl_sparse_row_length(&m, i);
                assert_true(length <= rl_sparse_longest_row(&m));
                rl_sparse_row(&m, i, column, value);
                for (unsigned k = 0; k < length; k++) {
                    assert_true(column[k] < m.columns);
                    sum += value[k];
                }
                /* Off-diagonals are -1: inside the grid a Laplacian's row sums to 0. */
                assert_true(kind == RL_SPARSE_RANDOM || sum >= 0);
                n += length;
            }
            assert_int_equal(n, m.n);
            rl_sparse_release(&m);
        }
}

static void more_rows_than_indices_are_refused(void **state)
{
    (void)state;
    struct rl_sparse m;
    assert_int_equal(rl_sparse_generate(&m, RL_SPARSE_LAPLACE27, 100000, 1, NULL), RL_EINVAL);
    assert_int_equal(rl_sparse_generate(&m, RL_SPARSE_RANDOM, INT32_MAX, 100000, NULL), RL_EINVAL);
}

/* Files collected from public repositories, where they are at hand: read, or refused with a line.
 */
static void files_from_elsewhere_are_read_or_refused(void **state)
{
    (void)state;
    static const char *const folders[] = {SOURCE_DIR "/../shared/cases/mtx-small",
                                          SOURCE_DIR "/../shared/cases/mtx-traps"};
    unsigned n = 0;
    for (size_t f = 0; f < 2; f++) {
        DIR *dir = opendir(folders[f]);
        for (struct dirent *d; dir && (d = readdir(dir));) {
            char path[1024];
            struct rl_mtx m = {0};
            struct rl_error err = {0};
            if (!strstr(d->d_name, ".mtx"))
                continue;
            snprintf(path, sizeof path, "%s/%s", folders[f], d->d_name);
            enum rl_status status = rl_mtx_read(path, PLENTY, &m, &err);
            bool complex = strstr(d->d_name, "complex");
            bool trap = f == 1 && !strstr(d->d_name, "dense4");
            assert_int_equal(status, complex || trap ? RL_EDATA : RL_OK);
            if (status != RL_OK)
                assert_non_null(strstr(err.text, "line "));
            rl_mtx_release(&m);
            n++;
        }
        if (dir)
            closedir(dir);
    }
    if (n == 0) {
        print_message("skipped: no collection of Matrix Market files beside the source\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(general_entries_stand_where_they_are),
        cmocka_unit_test(symmetric_entries_are_mirrored_but_not_the_diagonal),
        cmocka_unit_test(stored_and_expanded_entries_are_told_apart),
        cmocka_unit_test(skew_entries_are_mirrored_with_the_other_sign),
        cmocka_unit_test(entries_of_a_pattern_are_one),
        cmocka_unit_test(arrays_are_read_by_columns),
        cmocka_unit_test(a_matrix_without_entries_is_a_matrix),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(an_overlong_line_is_refused),
        cmocka_unit_test(a_matrix_beyond_the_memory_is_refused_unread),
        cmocka_unit_test(generated_rows_add_up),
        cmocka_unit_test(more_rows_than_indices_are_refused),
        cmocka_unit_test(files_from_elsewhere_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
