#include "analysis/advice.h"

#include "base/array.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ADVICE = 3 };

const struct rl_rule *rl_rule_at(size_t index)
{
    const struct rl_rule_table *const tables[] = {&rl_rules_memory, &rl_rules_compute,
                                                  &rl_rules_other};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        if (index < tables[t]->n)
            return &tables[t]->rule[index];
        index -= tables[t]->n;
    }
    return NULL;
}

static void find_main_ops(struct rl_evidence *e)
{
    double most = 0, scalar = 0, total = 0;
    e->main_isa = "";
    e->main_precision = RL_FP64;
    for (size_t i = 0; i < e->kernel->n_ops; i++) {
        const struct rl_op_count *row = &e->kernel->ops[i];
        double flop = row->count.value * rl_op_class_weight(row->op);
        if (!rl_known(row->count) || !rl_precision_is_float(row->precision))
            continue;
        total += flop;
        if (strcmp(row->isa, "scalar") == 0)
            scalar += flop;
        if (flop > most) {
            most = flop;
            e->main_isa = row->isa;
            e->main_precision = row->precision;
        }
    }
    e->scalar_share = total > 0 ? scalar / total : 0;
}

static struct rl_evidence gather(const struct rl_machine *machine, const struct rl_row *row)
{
    struct rl_evidence e = {.machine = machine, .kernel = row->kernel, .place = &row->place};
    struct rl_value flop = rl_kernel_flop(row->kernel);
    e.flop = rl_known(flop) ? flop.value : 0;
    e.mix = rl_mix_of(row->kernel);
    for (unsigned i = 0; i < row->place.n_resource; i++) {
        const struct rl_resource *r = &row->place.resource[i];
        const struct rl_resource **slot = r->is_memory ? &e.memory : &e.compute;
        if (!*slot)
            *slot = r;
    }
    find_main_ops(&e);
    return e;
}

bool rl_memory_is_nearest(const struct rl_evidence *e)
{
    double compute = e->compute ? fmax(e->compute->utilization, e->place->isa_attained) : 0;
    return e->memory && e->memory->utilization > compute;
}

static int by_gain(const void *a, const void *b)
{
    double x = ((const struct rl_advice *)a)->gain, y = ((const struct rl_advice *)b)->gain;
    return (x < y) - (x > y);
}

static enum rl_status append(struct rl_row *row, const char *id, const char *text, double gain,
                             struct rl_error *err)
{
    char *copy = strdup(text);
    struct rl_advice *slot =
        copy ? rl_array_append(&row->advice, &row->n_advice, sizeof *slot) : NULL;
    if (!slot) {
        free(copy);
        return rl_fail(err, RL_ENOMEM, "no memory for advice");
    }
    snprintf(slot->id, sizeof slot->id, "%s", id);
    slot->text = copy;
    slot->gain = gain > 1 ? gain : 0;
    return RL_OK;
}

static enum rl_status ask(const struct rl_evidence *evidence, enum rl_rule_turn turn,
                          struct rl_row *row, struct rl_error *err)
{
    const struct rl_rule *rule;
    for (size_t i = 0; (rule = rl_rule_at(i)) != NULL; i++) {
        char text[400];
        double gain = 0;
        if (rule->turn == turn && rule->speak(evidence, text, sizeof text, &gain))
            RL_TRY(append(row, rule->id, text, gain, err));
    }
    return RL_OK;
}

enum rl_status rl_advise(const struct rl_machine *machine, struct rl_row *row, struct rl_error *err)
{
    if (row->kernel->is_mix) /* rules weigh amounts against time */
        return RL_OK;
    struct rl_evidence evidence = gather(machine, row);
    RL_TRY(ask(&evidence, RL_TURN_FIRST, row, err));
    size_t n_first = row->n_advice;
    RL_TRY(ask(&evidence, RL_TURN_BY_GAIN, row, err));
    if (row->n_advice > n_first + 1)
        qsort(row->advice + n_first, row->n_advice - n_first, sizeof *row->advice, by_gain);
    if (row->n_advice == 0)
        RL_TRY(ask(&evidence, RL_TURN_LAST_RESORT, row, err));
    while (row->n_advice > MAX_ADVICE)
        free(row->advice[--row->n_advice].text);
    return RL_OK;
}
