#include "base/error.h"
#include "ceilings/ceilings_internal.h"

enum rl_status rl_host_set_identity(struct rl_machine *machine, const struct rl_identity *identity,
                                    struct rl_error *err)
{
    RL_TRY(rl_string_set(&machine->cpu.microarchitecture, identity->name, err));
    return rl_string_set(&machine->cpu.identity_note, identity->note[0] ? identity->note : NULL,
                         err);
}

static enum rl_status set_core(struct rl_machine *machine, const struct rl_cpu *cpu,
                               struct rl_error *err)
{
    struct rl_catalog catalog = {0};
    struct rl_identity identity = {0};
    RL_TRY(rl_catalog_load(&catalog, err));
    enum rl_status status = rl_catalog_identify(&catalog, cpu, &identity, err);
    if (status == RL_OK)
        status = rl_host_set_identity(machine, &identity, err);
    rl_identity_release(&identity);
    rl_catalog_release(&catalog);
    return status;
}

double rl_host_nop_per_cycle(const struct rl_cpu *cpu)
{
    struct rl_catalog catalog = {0};
    struct rl_identity identity = {0};
    double nop = 0;
    if (rl_catalog_load(&catalog, NULL) != RL_OK)
        return 0;
    if (rl_catalog_identify(&catalog, cpu, &identity, NULL) == RL_OK)
        nop = rl_core_value(identity.core, "nop_per_cycle");
    rl_identity_release(&identity);
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
