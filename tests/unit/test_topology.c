/* Recorded machines and control groups turn into levels, places, quota and key. */
#include "base/error.h"
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/cmocka_all.h"

#define MACHINES SOURCE_DIR "/tests/fixture/machine/"

struct described {
    struct rl_machine machine;
    struct rl_places places;
};

static struct described describe(const char *xml, const char *root)
{
    struct described d = {0};
    struct rl_topology_source source = {.hwloc_xml = xml, .root = root};
    struct rl_cpu cpu = {.vendor = "AuthenticAMD", .family = 26, .model = 2};
    struct rl_error err = {0};
    if (rl_topology_detect(&source, &cpu, &d.machine, &d.places, &err) != RL_OK)
        fail_msg("%s", err.text);
    return d;
}

static void release(struct described *d)
{
    rl_machine_release(&d->machine);
    rl_places_release(&d->places);
}

static void levels_carry_size_sharing_and_count(void **state)
{
    (void)state;
    struct described d = describe(MACHINES "two-nodes-smt.xml", NULL);
    const struct rl_level *l1 = rl_machine_level(&d.machine, "L1");
    const struct rl_level *l2 = rl_machine_level(&d.machine, "L2");
    const struct rl_level *l3 = rl_machine_level(&d.machine, "L3");
    assert_non_null(l1);
    assert_int_equal(l1->size_bytes, 49152);
    assert_int_equal(l1->shared_by, 2);
    assert_int_equal(l1->count, 8);
    assert_int_equal(l2->reported_size_bytes, 1048576);
    assert_int_equal(l3->count, 2);
    assert_int_equal(l3->shared_by, 8);
    assert_int_equal(rl_machine_level(&d.machine, "DRAM")->size_bytes, 2147483648u);
    assert_int_equal(d.machine.topology.packages, 2);
    assert_int_equal(d.machine.topology.cores, 8);
    assert_int_equal(d.machine.topology.hw_threads, 16);
    assert_int_equal(d.machine.topology.numa_nodes, 2);
    assert_int_equal(d.machine.topology.smt, 2);
    assert_string_equal(d.machine.topology.allowed_cpus, "0-15");
    assert_null(d.machine.topology.core_kinds);
    release(&d);
}

static void siblings_and_nodes_are_told_apart(void **state)
{
    (void)state;
    struct described d = describe(MACHINES "two-nodes-smt.xml", NULL);
    assert_int_equal(d.places.n, 16);
    assert_int_equal(d.places.n_cores, 8);
    assert_int_equal(d.places.cpu[0].sibling, 0);
    assert_int_equal(d.places.cpu[1].sibling, 1);
    assert_int_equal(d.places.cpu[1].core, 0);
    assert_int_equal(d.places.cpu[2].core, 1);
    assert_int_equal(d.places.cpu[15].node, 1);
    assert_int_equal(d.places.cpu[15].package, 1);
    release(&d);
}

static void threads_go_one_to_a_core_before_siblings(void **state)
{
    (void)state;
    struct described d = describe(MACHINES "two-nodes-smt.xml", NULL);
    int cpu[16];
    assert_int_equal(rl_places_pick(&d.places, 9, cpu, NULL), RL_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(cpu[i], 2 * i);
    assert_int_equal(cpu[8], 1);
    struct rl_error err = {0};
    assert_int_equal(rl_places_pick(&d.places, 17, cpu, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "16 hardware threads"));
    assert_int_equal(rl_places_pick(&d.places, 0, cpu, NULL), RL_EINVAL);
    release(&d);
}

static void the_capable_cores_of_a_hybrid_come_first(void **state)
{
    (void)state;
    struct described d = describe(MACHINES "hybrid.xml", NULL);
    int cpu[8];
    assert_int_equal(d.places.n_kinds, 2);
    assert_string_equal(d.machine.topology.core_kinds, "2 P + 4 E");
    assert_int_equal(rl_places_pick(&d.places, 8, cpu, NULL), RL_OK);
    const int order[] = {0, 2, 4, 5, 6, 7, 1, 3};
    assert_memory_equal(cpu, order, sizeof order);
    assert_string_equal(d.machine.cpu.model_name, "Hybrid Example");
    release(&d);
}

static void a_machine_without_caches_still_has_memory(void **state)
{
    (void)state;
    struct described d = describe(MACHINES "no-caches.xml", NULL);
    assert_null(rl_machine_level(&d.machine, "L1"));
    assert_int_equal(d.machine.topology.n_levels, 1);
    assert_string_equal(d.machine.topology.levels[0].name, "DRAM");
    release(&d);
}

static void a_file_that_is_no_topology_is_refused_by_name(void **state)
{
    (void)state;
    struct rl_machine machine = {0};
    struct rl_places places = {0};
    struct rl_cpu cpu = {0};
    struct rl_error err = {0};
    struct rl_topology_source source = {.hwloc_xml = SOURCE_DIR "/tests/unit/test_topology.c"};
    assert_int_equal(rl_topology_detect(&source, &cpu, &machine, &places, &err), RL_EDATA);
    assert_non_null(strstr(err.text, "test_topology.c"));
    rl_machine_release(&machine);
    assert_null(places.cpu);
}

/* A folder that stands for /, filled file by file. */
struct world {
    char root[64];
};

static struct world make_world(void)
{
    struct world w;
    snprintf(w.root, sizeof w.root, "/tmp/roofline-test-XXXXXX");
    assert_non_null(mkdtemp(w.root));
    return w;
}

static void put(const struct world *w, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", w->root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void clear_world(const struct world *w)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", w->root);
    assert_int_equal(system(command), 0);
}

static void the_tightest_quota_above_the_process_counts(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/proc/self/cgroup", "0::/user/job\n");
    put(&w, "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    put(&w, "/sys/fs/cgroup/user/cgroup.controllers", "cpu memory\n");
    put(&w, "/sys/fs/cgroup/user/cpu.max", "50000 100000\n");
    put(&w, "/sys/fs/cgroup/user/memory.max", "1073741824\n");
    put(&w, "/sys/fs/cgroup/user/memory.current", "1000000000\n");
    put(&w, "/sys/fs/cgroup/user/job/cgroup.controllers", "cpu memory\n");
    put(&w, "/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    put(&w, "/sys/fs/cgroup/user/job/memory.max", "max\n");
    put(&w, "/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n");
    struct described d = describe(MACHINES "no-caches.xml", w.root);
    assert_true(fabs(d.machine.environment.cpu_quota - 0.5) < 1e-9);
    assert_int_equal(d.machine.environment.memory_limit_bytes, 1073741824);
    assert_int_equal(d.machine.topology.memory_bytes, 8589934592u);
    struct rl_topology_source source = {.root = w.root};
    assert_int_equal(rl_memory_available(&source), 1073741824 - 1000000000);
    release(&d);
    clear_world(&w);
}

static void version_1_groups_are_read_too(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n");
    put(&w, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    put(&w, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put(&w, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(&w, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
    struct described d = describe(MACHINES "no-caches.xml", w.root);
    assert_true(fabs(d.machine.environment.cpu_quota - 1.5) < 1e-9);
    assert_int_equal(d.machine.environment.memory_limit_bytes, 536870912);
    release(&d);
    clear_world(&w);
}

/* The memory left is that of the group that has least left, not of the one with the lowest limit.
 */
static void the_group_with_least_memory_left_counts(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/proc/self/cgroup", "0::/outer/inner\n");
    put(&w, "/sys/fs/cgroup/outer/cgroup.controllers", "memory\n");
    put(&w, "/sys/fs/cgroup/outer/memory.max", "3000000\n");
    put(&w, "/sys/fs/cgroup/outer/memory.current", "2900000\n");
    put(&w, "/sys/fs/cgroup/outer/inner/cgroup.controllers", "memory\n");
    put(&w, "/sys/fs/cgroup/outer/inner/memory.max", "2000000\n");
    put(&w, "/sys/fs/cgroup/outer/inner/memory.current", "1000000\n");
    put(&w, "/proc/meminfo", "MemAvailable: 4194304 kB\n");
    struct rl_topology_source source = {.root = w.root};
    assert_int_equal(rl_memory_available(&source), 100000);
    clear_world(&w);
}

/* Both versions at once: the second one mounted aside, without the controllers of the first. */
static void a_second_version_without_controllers_leaves_the_first_to_be_read(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/proc/self/cgroup", "8:cpu:/\n4:memory:/job/1\n0::/\n");
    put(&w, "/sys/fs/cgroup/unified/cgroup.controllers", "");
    put(&w, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(&w, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n");
    put(&w, "/sys/fs/cgroup/memory/job/1/memory.limit_in_bytes", "7000000\n");
    put(&w, "/sys/fs/cgroup/memory/job/1/memory.usage_in_bytes", "3000000\n");
    put(&w, "/proc/meminfo", "MemAvailable: 4194304 kB\n");
    struct rl_topology_source source = {.root = w.root};
    assert_int_equal(rl_memory_available(&source), 4000000);
    clear_world(&w);
}

/* Inside a container /proc/self/cgroup may name a folder of the host, while the mount's top is the
 * container's group. */
static void a_path_outside_the_mount_means_its_top(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/proc/self/cgroup", "0::/../../host/container\n");
    put(&w, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    put(&w, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
    struct described d = describe(MACHINES "no-caches.xml", w.root);
    assert_true(fabs(d.machine.environment.cpu_quota - 2) < 1e-9);
    release(&d);
    clear_world(&w);
}

static void no_groups_mean_no_limits(void **state)
{
    (void)state;
    struct world w = make_world();
    struct described d = describe(MACHINES "no-caches.xml", w.root);
    assert_true(d.machine.environment.cpu_quota == 0);
    assert_int_equal(d.machine.environment.memory_limit_bytes, 0);
    assert_null(d.machine.environment.governor);
    struct rl_topology_source source = {.root = w.root};
    assert_int_equal(rl_memory_available(&source), 0);
    release(&d);
    clear_world(&w);
}

static void the_environment_is_read_as_the_kernel_writes_it(void **state)
{
    (void)state;
    struct world w = make_world();
    put(&w, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put(&w, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(&w, "/etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 12\"\n");
    struct described d = describe(MACHINES "no-caches.xml", w.root);
    assert_string_equal(d.machine.environment.thp, "madvise");
    assert_string_equal(d.machine.environment.governor, "powersave");
    assert_string_equal(d.machine.environment.os, "Some Linux 12");
    release(&d);
    clear_world(&w);
}

static void the_key_changes_with_what_is_granted_and_with_nothing_else(void **state)
{
    (void)state;
    struct world free_world = make_world();
    struct world half = make_world();
    put(&half, "/proc/self/cgroup", "0::/\n");
    put(&half, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    put(&half, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
    struct described a = describe(MACHINES "no-caches.xml", free_world.root);
    struct described b = describe(MACHINES "no-caches.xml", free_world.root);
    struct described c = describe(MACHINES "no-caches.xml", half.root);
    struct described d = describe(MACHINES "hybrid.xml", free_world.root);
    assert_string_equal(a.machine.key, b.machine.key);
    assert_string_not_equal(a.machine.key, c.machine.key);
    assert_string_not_equal(a.machine.key, d.machine.key);
    for (const char *k = a.machine.key; *k; k++)
        assert_non_null(strchr("0123456789abcdef-", *k));
    release(&a);
    release(&b);
    release(&c);
    release(&d);
    clear_world(&free_world);
    clear_world(&half);
}

static void this_machine_can_be_described(void **state)
{
    (void)state;
    struct described d = {0};
    struct rl_cpu cpu;
    assert_int_equal(rl_cpu_detect(NULL, &cpu, NULL), RL_OK);
    assert_int_equal(rl_topology_detect(NULL, &cpu, &d.machine, &d.places, NULL), RL_OK);
    assert_true(d.places.n >= 1);
    assert_true(d.machine.topology.memory_bytes > 0);
    assert_non_null(d.machine.key);
    assert_non_null(d.machine.name);
    release(&d);
}

/* CPUs, and how many caches they have, may be fewer; hardware and quota may not differ. */
static void a_machine_with_fewer_allowed_cpus_is_a_part(void **state)
{
    (void)state;
    struct described whole = describe(MACHINES "two-nodes-smt.xml", NULL);
    struct described part = describe(MACHINES "two-nodes-smt.xml", NULL);
    char **allowed = &part.machine.topology.allowed_cpus;
    assert_true(rl_machine_is_part(&part.machine, &whole.machine));
    assert_int_equal(rl_string_set(allowed, "3,5", NULL), RL_OK);
    part.machine.topology.levels[0].count = 2;
    assert_true(rl_machine_is_part(&part.machine, &whole.machine));
    assert_false(rl_machine_is_part(&whole.machine, &part.machine));
    assert_int_equal(rl_string_set(allowed, "3,5000", NULL), RL_OK);
    assert_false(rl_machine_is_part(&part.machine, &whole.machine));
    assert_int_equal(rl_string_set(allowed, "3,5", NULL), RL_OK);
    part.machine.environment.cpu_quota = 2;
    assert_false(rl_machine_is_part(&part.machine, &whole.machine));
    part.machine.environment.cpu_quota = 0;
    part.machine.topology.levels[0].reported_size_bytes *= 2;
    assert_false(rl_machine_is_part(&part.machine, &whole.machine));
    part.machine.topology.levels[0].reported_size_bytes /= 2;
    assert_true(rl_machine_is_part(&part.machine, &whole.machine));
    part.machine.cpu.stepping++;
    assert_false(rl_machine_is_part(&part.machine, &whole.machine));
    release(&part);
    release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_carry_size_sharing_and_count),
        cmocka_unit_test(a_machine_with_fewer_allowed_cpus_is_a_part),
        cmocka_unit_test(siblings_and_nodes_are_told_apart),
        cmocka_unit_test(threads_go_one_to_a_core_before_siblings),
        cmocka_unit_test(the_capable_cores_of_a_hybrid_come_first),
        cmocka_unit_test(a_machine_without_caches_still_has_memory),
        cmocka_unit_test(a_file_that_is_no_topology_is_refused_by_name),
        cmocka_unit_test(the_tightest_quota_above_the_process_counts),
        cmocka_unit_test(version_1_groups_are_read_too),
        cmocka_unit_test(the_group_with_least_memory_left_counts),
        cmocka_unit_test(a_second_version_without_controllers_leaves_the_first_to_be_read),
        cmocka_unit_test(a_path_outside_the_mount_means_its_top),
        cmocka_unit_test(no_groups_mean_no_limits),
        cmocka_unit_test(the_environment_is_read_as_the_kernel_writes_it),
        cmocka_unit_test(the_key_changes_with_what_is_granted_and_with_nothing_else),
        cmocka_unit_test(this_machine_can_be_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
