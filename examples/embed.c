/* A program that places its own kernel under a measured roof with libroofline.
 *
 *     roofline measure -o machine.json
 *     cc -O2 embed.c $(pkg-config --cflags --libs roofline) -o embed
 *     ./embed machine.json embed.svg
 *
 * The kernel is a dot product. What roofline has to be told about it: how many operations of which
 * kind it does, how many bytes it moves through memory, and how long it took. */
#include <roofline/format.h>
#include <roofline/profile.h>
#include <roofline/render.h>
#include <roofline/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1 << 22, REPEATS = 5 };

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += x[i] * y[i];
    return sum;
}

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the fastest of a few runs; negative if there was no memory. */
static double time_dot(void)
{
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    double best_s = -1, sum = 0;
    for (int i = 0; x && y && i < N; i++) {
        x[i] = 1.0 / (i + 1);
        y[i] = i;
    }
    for (int r = 0; x && y && r < REPEATS; r++) {
        double start_s = now_s();
        sum += dot(x, y);
        double took_s = now_s() - start_s;
        if (best_s < 0 || took_s < best_s)
            best_s = took_s;
    }
    fprintf(stderr, "dot product: %g\n", sum / REPEATS);
    free(x);
    free(y);
    return best_s;
}

static enum rl_status describe_dot(struct rl_profile *profile, double time_s, struct rl_error *err)
{
    struct rl_kernel *kernel;
    struct rl_traffic *memory;
    struct rl_op_count ops = {.precision = RL_FP64, .isa = "scalar"};
    enum rl_status status = rl_profile_add(profile, RL_KIND_BENCH, "my dot", &kernel, err);
    if (status != RL_OK)
        return status;
    kernel->time_s = rl_value(time_s, RL_SOURCE_MEASURED, 0);
    kernel->threads = rl_value(1, RL_SOURCE_DECLARED, 0);
    ops.count = rl_value(N, RL_SOURCE_MODELLED, 0);
    ops.op = RL_OP_MUL;
    status = rl_kernel_add_ops(kernel, &ops, err);
    ops.op = RL_OP_ADD;
    if (status == RL_OK)
        status = rl_kernel_add_ops(kernel, &ops, err);
    if (status == RL_OK)
        status = rl_kernel_traffic(kernel, "DRAM", &memory, err);
    if (status == RL_OK)
        memory->bytes = rl_value(2.0 * N * sizeof(double), RL_SOURCE_MODELLED, 0);
    return status;
}

static enum rl_status write_picture(const struct rl_report *report, const char *path,
                                    struct rl_error *err)
{
    char *svg;
    size_t size;
    enum rl_status status = rl_render(rl_renderer_find("svg"), report, NULL, &svg, &size, err);
    if (status != RL_OK)
        return status;
    FILE *out = fopen(path, "w");
    if (!out || fwrite(svg, 1, size, out) != size || fclose(out) != 0)
        perror(path);
    else
        printf("picture: %s\n", path);
    free(svg);
    return RL_OK;
}

int main(int argc, char **argv)
{
    struct rl_machine machine = {0};
    struct rl_profile profile = {0};
    struct rl_report report = {0};
    struct rl_error err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: %s MACHINE.json PICTURE.svg\n", argv[0]);
        return 2;
    }
    enum rl_status status = rl_machine_read(argv[1], &machine, &err);
    if (status == RL_OK)
        status = describe_dot(&profile, time_dot(), &err);
    if (status == RL_OK)
        status = rl_report_build(&machine, &profile, NULL, &report, &err);
    if (status == RL_OK) {
        const struct rl_row *row = &report.row[0];
        printf("%s: %s, %.0f %% of its roof\n", row->kernel->name, row->place.bound,
               100 * row->place.attained);
        for (size_t i = 0; i < row->n_advice; i++)
            printf("  it %s\n", row->advice[i].text);
        status = write_picture(&report, argv[2], &err);
    }
    if (status != RL_OK)
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
    rl_report_release(&report);
    rl_profile_release(&profile);
    rl_machine_release(&machine);
    return status == RL_OK ? 0 : 1;
}
