/* Advice: one rule a function, each with an id, the condition it needs and the evidence it cites.
 *
 * A rule looks at one placed kernel and either stays silent or says one sentence with the gain it
 * could bring. To add one: write it in the rules_<topic>.c it belongs to, list it in that file's
 * table, and describe it in docs/advice.md (a test compares the ids). */
#ifndef RL_ANALYSIS_ADVICE_H
#define RL_ANALYSIS_ADVICE_H

#include <roofline/report.h>
#include <stddef.h>

/** What a rule sees; all borrowed. */
struct rl_evidence {
    const struct rl_machine *machine;
    const struct rl_kernel *kernel;
    const struct rl_placement *place;
    const struct rl_resource *memory;  /**< the memory level needing most time; NULL: none known */
    const struct rl_resource *compute; /**< NULL: no ceiling or no FLOP */
    struct rl_mix mix;
    double flop;                      /**< 0: none or unknown */
    double scalar_share;              /**< share of FLOP done one lane at a time */
    enum rl_precision main_precision; /**< of most FLOP */
    const char *main_isa;             /**< vector width of most FLOP; "" unknown */
};

/** When a rule is asked, and where what it says stands. */
enum rl_rule_turn {
    RL_TURN_BY_GAIN = 0, /**< among the others, most promising first */
    RL_TURN_FIRST,       /**< before the others: what it names stands in their way */
    RL_TURN_LAST_RESORT, /**< speaks only when no other rule did */
};

struct rl_rule {
    const char *id;
    const char *summary; /**< when it speaks, for the documentation */
    const char *source;  /**< where the rule comes from */
    enum rl_rule_turn turn;
    /**
     * @param text      [size] the sentence, without a full stop at the end; written when true is
     * returned.
     * @param ret_gain  factor on the kernel's time if it works fully; 1 or less: nothing is
     * promised.
     */
    bool (*speak)(const struct rl_evidence *e, char *text, size_t size, double *ret_gain);
};

struct rl_rule_table {
    const struct rl_rule *rule;
    size_t n;
};

extern const struct rl_rule_table rl_rules_memory;
extern const struct rl_rule_table rl_rules_compute;
extern const struct rl_rule_table rl_rules_other;

/** Whether a memory level is used more than what the kernel's own instructions allow in compute. */
bool rl_memory_is_nearest(const struct rl_evidence *e);

/** The latency by which the kernel's dependent loads explain its time; NULL: none does. Borrowed
 * from the machine. */
const struct rl_latency *rl_awaited_latency(const struct rl_evidence *e);

/** Every rule, in order of speaking. @return the rule, NULL past the last. */
const struct rl_rule *rl_rule_at(size_t index);

/** Run every rule on a placed row and append what they say, most promising first (at most three).
 */
enum rl_status rl_advise(const struct rl_machine *machine, struct rl_row *row,
                         struct rl_error *err);

#endif
