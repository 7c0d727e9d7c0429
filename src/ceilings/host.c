#include "base/error.h"
#include "catalog/catalog.h"
#include "ceilings/ceilings.h"

static enum rl_status set_core(struct rl_machine *machine, const struct rl_cpu *cpu,
                               struct rl_error *err)
{
    struct rl_catalog catalog = {0};
    RL_TRY(rl_catalog_load(&catalog, err));
    const struct rl_core *core = rl_catalog_find(&catalog, cpu);
    enum rl_status status =
        rl_string_set(&machine->cpu.microarchitecture, core ? core->name : NULL, err);
    rl_catalog_release(&catalog);
    return status;
}

double rl_host_nop_per_cycle(const struct rl_cpu *cpu)
{
    struct rl_catalog catalog = {0};
    if (rl_catalog_load(&catalog, NULL) != RL_OK)
        return 0;
    const struct rl_core *core = rl_catalog_find(&catalog, cpu);
    double nop = rl_core_value(core, "nop_per_cycle");
    rl_catalog_release(&catalog);
    return nop;
}

enum rl_status rl_host_describe(const char *isa_mask, struct rl_machine *ret_machine,
                                struct rl_error *err)
{
    struct rl_cpu cpu;
    struct rl_machine machine = {0};
    struct rl_places places = {0};
    RL_TRY(rl_cpu_detect(isa_mask, &cpu, err));
    enum rl_status status = rl_topology_detect(NULL, &cpu, &machine, &places, err);
    if (status == RL_OK)
        status = set_core(&machine, &cpu, err);
    rl_places_release(&places);
    if (status != RL_OK) {
        rl_machine_release(&machine);
        return status;
    }
    *ret_machine = machine;
    return RL_OK;
}
