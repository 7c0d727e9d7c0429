#include "workload/gemm_packed.h"

#include "workload/workload_internal.h"

/* A panel of B is read once for each block of A, so it need not be near: 3 GB/s at 60 GFLOP/s. But
 * A is packed again for each panel, so it should be wide, however little there is of a last cache.
 */
static const size_t least_panel_bytes = 5 << 20, most_panel_bytes = 12 << 20;
/* Of the L2 a sliver of B takes an eighth, which leaves three fifths for the block of A and the
 * rest for C on its way; deeper than this no pass over C is worth saving. */
enum { SLIVER_SHARE = 8, MOST_DEPTH = 512 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* Largest multiple of `step` not above x, at least one step. */
static size_t round_down(size_t x, size_t step)
{
    return x < step ? step : x / step * step;
}

void rl_gemm_plan_init(struct rl_gemm_plan *plan, const struct rl_work_env *env,
                       enum rl_work_isa isa, enum rl_precision precision, unsigned threads)
{
    const struct rl_kernels *kernels = rl_kernels(isa, precision);
    size_t mr = kernels->gemm_mr, nr = kernels->gemm_nr, e = rl_precision_size(precision);
    size_t l2 = rl_work_cache(env, 2, 256 << 10);
    size_t panel_bytes = least(rl_work_last_cache(env) / 2 / threads, most_panel_bytes);
    panel_bytes = panel_bytes < least_panel_bytes ? least_panel_bytes : panel_bytes;
    plan->kernels = kernels;
    plan->element = e;
    /* Deep blocks mean few passes over C. A sliver of B that fits the L1 is half as deep and gains
     * nothing: both slivers come from the L2 at a third of what it can deliver. */
    plan->kc = round_down(least(l2 / SLIVER_SHARE / (nr * e), MOST_DEPTH), 8);
    plan->mc = round_down(l2 * 6 / 10 / (plan->kc * e), mr);
    plan->nc = round_down(panel_bytes / (plan->kc * e), nr);
}

size_t rl_gemm_scratch(const struct rl_gemm_plan *plan, size_t m, size_t n, size_t k)
{
    size_t mr = plan->kernels->gemm_mr, nr = plan->kernels->gemm_nr;
    size_t mc = round_up(least(m, plan->mc), mr), nc = round_up(least(n, plan->nc), nr);
    size_t kc = least(k, plan->kc);
    return round_up(mc * kc * plan->element, 4096) + round_up(nc * kc * plan->element, 4096);
}

void rl_gemm_packed(const struct rl_gemm_plan *plan, const struct rl_gemm_problem *p, void *scratch)
{
    const struct rl_kernels *kernels = plan->kernels;
    size_t e = plan->element;
    size_t mc_most = round_up(least(p->m, plan->mc), kernels->gemm_mr);
    char *pack_a = scratch;
    char *pack_b = pack_a + round_up(mc_most * least(p->k, plan->kc) * e, 4096);
    for (size_t jc = 0; jc < p->n; jc += plan->nc)
        for (size_t pc = 0; pc < p->k; pc += plan->kc) {
            size_t nc = least(plan->nc, p->n - jc), kc = least(plan->kc, p->k - pc);
            const char *b = (const char *)p->b + (pc * p->ldb + jc) * e;
            kernels->gemm_pack_b(kc, nc, b, p->ldb, pack_b);
            for (size_t ic = 0; ic < p->m; ic += plan->mc) {
                size_t mc = least(plan->mc, p->m - ic);
                const char *a = (const char *)p->a + (ic * p->lda + pc) * e;
                kernels->gemm_pack_a(mc, kc, a, p->lda, pack_a);
                char *c = (char *)p->c + (ic * p->ldc + jc) * e;
                kernels->gemm_block(mc, nc, kc, pack_a, pack_b, c, p->ldc, pc > 0);
            }
        }
}

/* One (mc, nc, kc) block: its tiles, its share of C, and the packed A it reads. */
static void count_block(const struct rl_kernels *kernels, size_t m, size_t n, size_t kc, bool add,
                        struct rl_gemm_count *count)
{
    size_t mr = kernels->gemm_mr, nr = kernels->gemm_nr;
    double rows = (double)round_up(m, mr), columns = (double)round_up(n, nr);
    double tiles = rows / (double)mr * columns / (double)nr;
    double whole = (double)(m / mr) * (double)(n / nr);
    double c = (double)m * (double)n, aside = (tiles - whole) * (double)(mr * nr);
    double inside = c - whole * (double)(mr * nr); /* elements of C below edge tiles */
    count->multiply_add += rows * columns * (double)kc;
    count->add += add ? c : 0;
    count->load_elements += tiles * (double)(mr + nr) * (double)kc + (add ? c : 0) + inside;
    count->store_elements += c + aside;
    count->l2_read += columns / (double)nr * rows * (double)kc + columns * (double)kc;
    count->l3_read += columns * (double)kc;
    if (add) {
        count->l2_read += c;
        count->l3_read += c;
        count->far_read += c;
    }
    count->l2_write += c;
    count->l3_write += c;
    count->far_write += c;
}

void rl_gemm_packed_count(const struct rl_gemm_plan *plan, const struct rl_gemm_problem *p,
                          struct rl_gemm_count *count)
{
    size_t mr = plan->kernels->gemm_mr, nr = plan->kernels->gemm_nr;
    for (size_t jc = 0; jc < p->n; jc += plan->nc)
        for (size_t pc = 0; pc < p->k; pc += plan->kc) {
            size_t nc = least(plan->nc, p->n - jc), kc = least(plan->kc, p->k - pc);
            double b = (double)nc * (double)kc, packed = (double)round_up(nc, nr) * (double)kc;
            double padding = nc % nr ? (double)(nr * kc) : 0;
            count->load_elements += b;
            count->store_elements += b + padding;
            count->l2_read += b;
            count->l2_write += packed;
            count->l3_read += b;
            count->l3_write += packed;
            count->far_read += b;
            for (size_t ic = 0; ic < p->m; ic += plan->mc) {
                size_t mc = least(plan->mc, p->m - ic);
                double a = (double)mc * (double)kc;
                count->load_elements += a;
                count->store_elements += a + (mc % mr ? (double)(mr * kc) : 0);
                count->l2_read += a;
                count->l2_write += (double)round_up(mc, mr) * (double)kc;
                count->l3_read += a;
                count->far_read += a;
                count_block(plan->kernels, mc, nc, kc, pc > 0, count);
            }
        }
}
