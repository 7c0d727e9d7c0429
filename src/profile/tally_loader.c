#include "profile/tally_loader.h"

#include "base/error.h"
#include "base/file.h"
#include "count/engine/result_format.h"
#include "profile/tally_cut.h"

#include <fnmatch.h>
#include <string.h>

bool tally_loader_is(const char *path)
{
    static const char *const names[] = {"ld-linux*.so*", "ld-musl-*.so*", "ld.so*", "ld64.so*"};
    const char *name = rl_base_name(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!fnmatch(names[i], name, 0))
            return true;
    return false;
}

static bool began_uncounted(const struct code *code)
{
    for (size_t i = 0; i < code->n_result; i++)
        for (size_t k = 0; k < code->result[i].n_uncounted; k++)
            if (code->result[i].uncounted[k].reason == RLE_UNCOUNTED_RUNTIME)
                return true;
    return false;
}

enum rl_status tally_loader_forget(struct rl_tally *tally, const struct code *code,
                                   struct rl_error *err)
{
    if (!began_uncounted(code))
        return RL_OK;
    for (size_t i = 0; i < tally->n_unit; i++) {
        struct rl_tally_unit *unit = &tally->unit[i];
        if (tally_loader_is(tally->module[unit->module].path))
            RL_TRY(tally_forget(&unit->kernel,
                                "most of the dynamic loader's work is done, and timed, before "
                                "counting begins",
                                err));
    }
    return RL_OK;
}
