#include "count/perf_event/metric.h"

#include <string.h>

#define P(precision) (1u << (precision))
#define FLOP(n, t, p, w)                                                                           \
    {                                                                                              \
        .name = (n), .title = (t), .kind = RL_PMU_FLOP, .precisions = (p), .widths = (w)           \
    }
#define BYTES(n, t, l, ...)                                                                        \
    {                                                                                              \
        .name = (n), .title = (t), .kind = RL_PMU_BYTES, .level = (l), __VA_ARGS__                 \
    }
#define HINT(n, t, k)                                                                              \
    {                                                                                              \
        .name = (n), .title = (t), .kind = (k)                                                     \
    }

/* The bare total takes in fp64 and fp32; what else is in it differs by core and is in no trial. */
#define DOUBLE_AND_SINGLE (P(RL_FP64) | P(RL_FP32))

const struct rl_pmu_metric rl_pmu_metric[RL_PMU_METRICS] = {
    HINT("instructions", "instructions retired", RL_PMU_CORE),
    HINT("cycles", "core cycles", RL_PMU_CORE),
    FLOP("flop_any", "fp64 and fp32 FLOP", DOUBLE_AND_SINGLE, RL_PMU_ANY_WIDTH),
    FLOP("flop_fp64", "fp64 FLOP", P(RL_FP64), RL_PMU_ANY_WIDTH),
    FLOP("flop_fp64_scalar", "fp64 FLOP, scalar", P(RL_FP64), RL_PMU_SCALAR),
    FLOP("flop_fp64_packed", "fp64 FLOP, vectors", P(RL_FP64), RL_PMU_PACKED),
    FLOP("flop_fp64_128", "fp64 FLOP, 128 bit", P(RL_FP64), RL_PMU_128),
    FLOP("flop_fp64_256", "fp64 FLOP, 256 bit", P(RL_FP64), RL_PMU_256),
    FLOP("flop_fp64_512", "fp64 FLOP, 512 bit", P(RL_FP64), RL_PMU_512),
    FLOP("flop_fp32", "fp32 FLOP", P(RL_FP32), RL_PMU_ANY_WIDTH),
    FLOP("flop_fp32_scalar", "fp32 FLOP, scalar", P(RL_FP32), RL_PMU_SCALAR),
    FLOP("flop_fp32_packed", "fp32 FLOP, vectors", P(RL_FP32), RL_PMU_PACKED),
    FLOP("flop_fp32_128", "fp32 FLOP, 128 bit", P(RL_FP32), RL_PMU_128),
    FLOP("flop_fp32_256", "fp32 FLOP, 256 bit", P(RL_FP32), RL_PMU_256),
    FLOP("flop_fp32_512", "fp32 FLOP, 512 bit", P(RL_FP32), RL_PMU_512),
    FLOP("flop_fp16", "fp16 FLOP", P(RL_FP16), RL_PMU_ANY_WIDTH),
    FLOP("flop_fp16_scalar", "fp16 FLOP, scalar", P(RL_FP16), RL_PMU_SCALAR),
    FLOP("flop_fp16_128", "fp16 FLOP, 128 bit", P(RL_FP16), RL_PMU_128),
    FLOP("flop_fp16_256", "fp16 FLOP, 256 bit", P(RL_FP16), RL_PMU_256),
    FLOP("flop_fp16_512", "fp16 FLOP, 512 bit", P(RL_FP16), RL_PMU_512),
    FLOP("flop_bf16", "bf16 FLOP", P(RL_BF16), RL_PMU_ANY_WIDTH),
    FLOP("flop_bf16_128", "bf16 FLOP, 128 bit", P(RL_BF16), RL_PMU_128),
    FLOP("flop_bf16_256", "bf16 FLOP, 256 bit", P(RL_BF16), RL_PMU_256),
    FLOP("flop_bf16_512", "bf16 FLOP, 512 bit", P(RL_BF16), RL_PMU_512),
    FLOP("flop_amx", "FLOP of AMX tiles", P(RL_BF16) | P(RL_FP16), 0),
    BYTES("bytes_l0_fill", "L0 fills", "L0", .way = RL_PMU_FILL),
    BYTES("bytes_l2_fill", "fills from L2", "L2", .way = RL_PMU_FILL),
    BYTES("bytes_l2_wb", "write-backs to L2", "L2", .way = RL_PMU_WRITE),
    BYTES("bytes_l3_fill", "fills from L3", "L3", .way = RL_PMU_FILL),
    BYTES("bytes_l3_wb", "write-backs to L3", "L3", .way = RL_PMU_WRITE),
    BYTES("bytes_l3_victim", "lines put out to L3", "L3", .way = RL_PMU_WRITE),
    BYTES("bytes_dram_core_rd", "reads of memory", "DRAM", .way = RL_PMU_FILL),
    BYTES("bytes_dram_core_rd_l3pf", "reads of memory by L3 prefetch", "DRAM", .way = RL_PMU_FILL),
    BYTES("bytes_dram_core_rd_demand", "demand reads of memory", "DRAM", .way = RL_PMU_FILL,
          .is_lower_bound = true),
    BYTES("bytes_dram_core_nt", "non-temporal stores to memory", "DRAM", .way = RL_PMU_WRITE,
          .is_lower_bound = true),
    BYTES("bytes_dram_core_wb", "write-backs to memory", "DRAM", .way = RL_PMU_WRITE),
    BYTES("bytes_dram_rd", "memory controllers, reads", "DRAM", .way = RL_PMU_FILL,
          .is_system = true),
    BYTES("bytes_dram_wr", "memory controllers, writes", "DRAM", .way = RL_PMU_WRITE,
          .is_system = true),
    BYTES("bytes_dram_rdwr", "memory channels, both ways", "DRAM", .way = RL_PMU_BOTH,
          .is_system = true),
    BYTES("bytes_dram_rd_df", "data fabric, reads of one channel", "DRAM", .way = RL_PMU_FILL,
          .is_system = true, .is_lower_bound = true),
    HINT("ins_load", "load instructions", RL_PMU_INS),
    HINT("ins_store", "store instructions", RL_PMU_INS),
    HINT("ins_ldst", "read-modify-write operations", RL_PMU_INS),
    HINT("ins_fp64", "fp64 instructions", RL_PMU_INS),
    HINT("ins_fp32", "fp32 instructions", RL_PMU_INS),
    HINT("ins_fp16", "fp16 instructions", RL_PMU_INS),
    HINT("ins_fp16_complex", "complex fp16 instructions", RL_PMU_INS),
    HINT("ops_fp_scalar", "scalar operations of the FP unit", RL_PMU_OPS),
    HINT("ops_fp_128", "128-bit operations of the FP unit", RL_PMU_OPS),
    HINT("ops_fp_256", "256-bit operations of the FP unit", RL_PMU_OPS),
    HINT("ops_fp_512", "512-bit operations of the FP unit", RL_PMU_OPS),
};

size_t rl_pmu_metric_find(const char *name)
{
    size_t i = 0;
    while (i < RL_PMU_METRICS && strcmp(rl_pmu_metric[i].name, name) != 0)
        i++;
    return i;
}

bool rl_pmu_width_exists(const struct rl_pmu_metric *metric, unsigned vector_bits)
{
    return metric->kind != RL_PMU_FLOP || metric->widths != RL_PMU_512 || !vector_bits ||
           vector_bits >= 512;
}
