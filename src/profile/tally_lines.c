#include "profile/tally_lines.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct placed {
    struct rl_source_line line;
    const struct rl_flow_insn *insn;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int files = x->line.file == y->line.file ? 0 : strcmp(x->line.file, y->line.file);
    if (files)
        return files;
    if (x->line.line != y->line.line)
        return x->line.line < y->line.line ? -1 : 1;
    return (x->insn > y->insn) - (x->insn < y->insn);
}

static void add(struct rl_tally_line *sum, const struct rl_flow_insn *insn)
{
    double executions = (double)insn->executions;
    bool unknown_bytes = insn->insn.flags & RL_INSN_REPEATED;
    sum->instructions += executions;
    sum->flop += executions * rl_insn_flop(&insn->insn);
    sum->load_bytes += unknown_bytes ? 0 : executions * insn->insn.load_bytes;
    sum->store_bytes += unknown_bytes ? 0 : executions * insn->insn.store_bytes;
}

static bool append_lines(struct rl_tally *tally, uint32_t function, const struct placed *placed,
                         size_t n)
{
    struct rl_tally_line *row = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct rl_source_line *line = &placed[i].line;
        if (!row || row->line != line->line || strcmp(row->file, line->file) != 0) {
            row = rl_array_append(&tally->line, &tally->n_line, sizeof *row);
            if (!row || !(row->file = strdup(line->file)))
                return false;
            row->function = function;
            row->line = line->line;
        }
        add(row, placed[i].insn);
    }
    return true;
}

enum rl_status tally_lines_add(struct rl_tally *tally, struct rl_symbol_module *module,
                               uint32_t function, const struct rl_flow *flow, struct rl_error *err)
{
    size_t n = 0;
    struct placed *placed = calloc(flow->n_insns + 1, sizeof *placed);
    bool ok = placed != NULL;
    for (size_t i = 0; ok && i < flow->n_insns; i++) {
        placed[n].insn = &flow->insns[i];
        n += flow->insns[i].insn.length &&
             rl_symbol_line(module, flow->insns[i].offset, &placed[n].line);
    }
    if (ok && n)
        qsort(placed, n, sizeof *placed, compare_placed);
    ok = ok && append_lines(tally, function, placed, n);
    free(placed);
    return ok ? RL_OK : rl_fail(err, RL_ENOMEM, "out of memory for source lines");
}
