/* The one file that knows hwloc. */
#include "base/array.h"
#include "base/error.h"
#include "topology/topology_internal.h"

#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is looked at throughout. */
struct view {
    hwloc_topology_t topology;
    hwloc_bitmap_t usable; /* PUs granted by cpuset, cgroup and affinity */
};

static enum rl_status load(const struct rl_topology_source *source, struct view *view,
                           struct rl_error *err)
{
    if (hwloc_topology_init(&view->topology) != 0)
        return rl_fail(err, RL_ENOMEM, "no memory for the topology");
    hwloc_topology_set_icache_types_filter(view->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (source->hwloc_xml && hwloc_topology_set_xml(view->topology, source->hwloc_xml) != 0)
        return rl_fail(err, RL_EDATA, "%s: not a topology file of hwloc", source->hwloc_xml);
    if (hwloc_topology_load(view->topology) != 0)
        return rl_fail(err, source->hwloc_xml ? RL_EDATA : RL_ESYS, "%s: hwloc cannot load it",
                       source->hwloc_xml ? source->hwloc_xml : "this machine's topology");
    view->usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(view->topology));
    if (!view->usable)
        return rl_fail(err, RL_ENOMEM, "no memory for the topology");
    if (source->hwloc_xml)
        return RL_OK;
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (bound && hwloc_get_cpubind(view->topology, bound, HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_bitmap_intersects(bound, view->usable))
        hwloc_bitmap_and(view->usable, view->usable, bound);
    hwloc_bitmap_free(bound);
    return RL_OK;
}

static void unload(struct view *view)
{
    if (view->usable)
        hwloc_bitmap_free(view->usable);
    if (view->topology)
        hwloc_topology_destroy(view->topology);
}

/* hwloc numbers kinds from the most efficient up; records from the most capable down. */
static unsigned kind_of(const struct view *view, hwloc_obj_t pu, unsigned n_kinds)
{
    if (n_kinds < 2)
        return 0;
    int kind = hwloc_cpukinds_get_by_cpuset(view->topology, pu->cpuset, 0);
    return kind < 0 ? 0 : n_kinds - 1 - (unsigned)kind;
}

static unsigned node_of(const struct view *view, hwloc_obj_t pu)
{
    int node = hwloc_bitmap_first(pu->nodeset);
    (void)view;
    return node < 0 ? 0 : (unsigned)node;
}

/* Object that stands for a PU's core: the PU itself where the system shows no cores. */
static hwloc_obj_t core_of(const struct view *view, hwloc_obj_t pu)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(view->topology, HWLOC_OBJ_CORE, pu);
    return core ? core : pu;
}

static enum rl_status add_place(const struct view *view, hwloc_obj_t pu, hwloc_obj_t *last_core,
                                struct rl_places *places, struct rl_error *err)
{
    hwloc_obj_t core = core_of(view, pu);
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(view->topology, HWLOC_OBJ_PACKAGE, pu);
    struct rl_place_cpu *place = rl_array_append(&places->cpu, &places->n, sizeof *place);
    if (!place)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of CPUs");
    bool sibling = core == *last_core;
    if (!sibling)
        places->n_cores++;
    place->cpu = (int)pu->os_index;
    place->core = places->n_cores - 1;
    place->sibling = sibling ? places->cpu[places->n - 2].sibling + 1 : 0;
    place->kind = kind_of(view, pu, places->n_kinds);
    place->node = node_of(view, pu);
    place->package = package ? package->logical_index : 0;
    *last_core = core;
    return RL_OK;
}

static enum rl_status list_places(const struct view *view, struct rl_places *places,
                                  struct rl_error *err)
{
    int kinds = hwloc_cpukinds_get_nr(view->topology, 0);
    places->n_kinds = kinds > 1 ? (unsigned)kinds : 1;
    hwloc_obj_t last_core = NULL;
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(view->topology, HWLOC_OBJ_PU, pu)))
        if (hwloc_bitmap_isset(view->usable, pu->os_index))
            RL_TRY(add_place(view, pu, &last_core, places, err));
    if (places->n == 0)
        return rl_fail(err, RL_ENODATA, "no CPU may be used: look at the cpuset and affinity");
    return RL_OK;
}

/* P and E only where the processor says so; otherwise kinds are numbered. */
static void kind_name(const struct view *view, unsigned kind, unsigned n_kinds, char *name,
                      size_t n_name)
{
    struct hwloc_info_s *infos;
    unsigned n_infos;
    int efficiency;
    snprintf(name, n_name, "kind %u", kind);
    if (hwloc_cpukinds_get_info(view->topology, n_kinds - 1 - kind, NULL, &efficiency, &n_infos,
                                &infos, 0) != 0)
        return;
    for (unsigned i = 0; i < n_infos; i++) {
        if (strcmp(infos[i].name, "CoreType") != 0)
            continue;
        if (strcmp(infos[i].value, "IntelCore") == 0)
            snprintf(name, n_name, "P");
        else if (strcmp(infos[i].value, "IntelAtom") == 0)
            snprintf(name, n_name, "E");
    }
}

static enum rl_status describe_kinds(const struct view *view, const struct rl_places *places,
                                     char **ret_text, struct rl_error *err)
{
    char text[128] = "";
    size_t used = 0;
    if (places->n_kinds < 2)
        return rl_string_set(ret_text, NULL, err);
    for (unsigned kind = 0; kind < places->n_kinds; kind++) {
        char name[32];
        unsigned cores = 0;
        for (size_t i = 0; i < places->n; i++)
            cores += places->cpu[i].kind == kind && places->cpu[i].sibling == 0;
        kind_name(view, kind, places->n_kinds, name, sizeof name);
        int n =
            snprintf(text + used, sizeof text - used, "%s%u %s", used ? " + " : "", cores, name);
        used += n > 0 && used + (size_t)n < sizeof text ? (size_t)n : 0;
    }
    return rl_string_set(ret_text, text, err);
}

static bool is_data_cache(hwloc_obj_t object)
{
    return hwloc_obj_type_is_dcache(object->type) && object->attr;
}

/* Caches of the first usable PU; counts are over all usable ones. */
static enum rl_status list_caches(const struct view *view, struct rl_machine *machine,
                                  struct rl_error *err)
{
    hwloc_obj_t object =
        hwloc_get_pu_obj_by_os_index(view->topology, (unsigned)hwloc_bitmap_first(view->usable));
    for (; object; object = object->parent) {
        if (!is_data_cache(object))
            continue;
        struct rl_level level = {.source = RL_SOURCE_SPECIFIED};
        snprintf(level.name, sizeof level.name, "L%u", object->attr->cache.depth);
        level.size_bytes = level.reported_size_bytes = object->attr->cache.size;
        level.line_bytes = object->attr->cache.linesize;
        level.ways =
            object->attr->cache.associativity > 0 ? (unsigned)object->attr->cache.associativity : 0;
        level.shared_by = (unsigned)hwloc_bitmap_weight(object->cpuset);
        for (hwloc_obj_t other = NULL;
             (other = hwloc_get_next_obj_by_type(view->topology, object->type, other));)
            level.count += (unsigned)hwloc_bitmap_intersects(other->cpuset, view->usable);
        RL_TRY(rl_machine_add_level(machine, &level, err));
    }
    return RL_OK;
}

/* The kernel's total: per-node figures miss memory that was added while the system ran. */
static enum rl_status add_memory(const struct view *view, const struct rl_topology_source *source,
                                 struct rl_machine *machine, struct rl_error *err)
{
    struct rl_level dram = {.name = "DRAM", .source = RL_SOURCE_SPECIFIED};
    hwloc_obj_t root = hwloc_get_root_obj(view->topology);
    char text[64] = "";
    if (!source->hwloc_xml || source->root)
        rl_read_key(source->root ? source->root : "", "/proc/meminfo", "MemTotal", text,
                    sizeof text);
    uint64_t total = (uint64_t)strtoull(text, NULL, 10) * 1024;
    machine->topology.memory_bytes = total > root->total_memory ? total : root->total_memory;
    dram.size_bytes = dram.reported_size_bytes = machine->topology.memory_bytes;
    dram.count = machine->topology.numa_nodes;
    dram.shared_by = (unsigned)hwloc_bitmap_weight(root->cpuset);
    return rl_machine_add_level(machine, &dram, err);
}

static unsigned count_of(const struct view *view, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(view->topology, type);
    return n > 0 ? (unsigned)n : 0;
}

static enum rl_status describe(const struct view *view, const struct rl_topology_source *source,
                               const struct rl_places *places, struct rl_machine *machine,
                               struct rl_error *err)
{
    struct rl_topology *topology = &machine->topology;
    char *list = NULL;
    topology->packages = count_of(view, HWLOC_OBJ_PACKAGE);
    topology->hw_threads = count_of(view, HWLOC_OBJ_PU);
    topology->cores = count_of(view, HWLOC_OBJ_CORE);
    topology->numa_nodes = count_of(view, HWLOC_OBJ_NUMANODE);
    if (topology->cores == 0)
        topology->cores = topology->hw_threads;
    topology->usable_cores = places->n_cores;
    for (hwloc_obj_t pu = NULL;
         (pu = hwloc_get_next_obj_by_type(view->topology, HWLOC_OBJ_PU, pu));) {
        unsigned threads = (unsigned)hwloc_bitmap_weight(core_of(view, pu)->cpuset);
        if (threads > topology->smt)
            topology->smt = threads;
    }
    if (hwloc_bitmap_list_asprintf(&list, view->usable) < 0)
        return rl_fail(err, RL_ENOMEM, "no memory for the list of CPUs");
    enum rl_status status = rl_string_set(&topology->allowed_cpus, list, err);
    free(list);
    RL_TRY(status);
    RL_TRY(describe_kinds(view, places, &topology->core_kinds, err));
    free(topology->levels);
    topology->levels = NULL;
    topology->n_levels = 0;
    RL_TRY(list_caches(view, machine, err));
    return add_memory(view, source, machine, err);
}

static enum rl_status identify(const struct view *view, const struct rl_cpu *cpu,
                               struct rl_machine *machine, struct rl_error *err)
{
    char isa[256];
    struct rl_cpu_identity *identity = &machine->cpu;
    const char *model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(view->topology), "CPUModel");
    hwloc_obj_t package = hwloc_get_obj_by_type(view->topology, HWLOC_OBJ_PACKAGE, 0);
    if (!model && package)
        model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (cpu->model_name[0])
        model = cpu->model_name;
    RL_TRY(rl_string_set(&identity->vendor, cpu->vendor[0] ? cpu->vendor : NULL, err));
    RL_TRY(rl_string_set(&identity->model_name, model, err));
    identity->family = cpu->family;
    identity->model = cpu->model;
    identity->stepping = cpu->stepping;
    rl_cpu_isa_list(cpu, isa, sizeof isa);
    RL_TRY(rl_string_set(&identity->isa, isa, err));
    char name[256];
    snprintf(name, sizeof name, "%s, %u %s", model ? model : "unknown processor",
             machine->topology.usable_cores,
             machine->topology.usable_cores == 1 ? "core" : "cores");
    return rl_string_set(&machine->name, name, err);
}

enum rl_status rl_topology_detect(const struct rl_topology_source *source, const struct rl_cpu *cpu,
                                  struct rl_machine *machine, struct rl_places *ret_places,
                                  struct rl_error *err)
{
    static const struct rl_topology_source here = {0};
    struct view view = {0};
    struct rl_places places = {0};
    source = source ? source : &here;
    enum rl_status status = load(source, &view, err);
    if (status == RL_OK)
        status = list_places(&view, &places, err);
    if (status == RL_OK)
        status = describe(&view, source, &places, machine, err);
    if (status == RL_OK)
        status = identify(&view, cpu, machine, err);
    if (status == RL_OK)
        status =
            rl_environment_read(source->root ? source->root : "", cpu, &machine->environment, err);
    if (status == RL_OK)
        status = rl_machine_set_key(machine, err);
    unload(&view);
    if (status != RL_OK) {
        rl_places_release(&places);
        return status;
    }
    *ret_places = places;
    return RL_OK;
}

/* In list format; nothing is within nothing. */
static bool is_within(const char *part, const char *whole)
{
    hwloc_bitmap_t a = hwloc_bitmap_alloc(), b = hwloc_bitmap_alloc();
    bool within = a && b && part && whole && hwloc_bitmap_list_sscanf(a, part) == 0 &&
                  hwloc_bitmap_list_sscanf(b, whole) == 0 && !hwloc_bitmap_iszero(a) &&
                  hwloc_bitmap_isincluded(a, b);
    hwloc_bitmap_free(a);
    hwloc_bitmap_free(b);
    return within;
}

bool rl_machine_is_part(const struct rl_machine *part, const struct rl_machine *whole)
{
    return part->topology.cores == whole->topology.cores &&
           part->topology.hw_threads == whole->topology.hw_threads &&
           rl_machine_hardware(part) == rl_machine_hardware(whole) &&
           is_within(part->topology.allowed_cpus, whole->topology.allowed_cpus);
}
