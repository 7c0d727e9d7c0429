/* What identifies a mapped file: build id, size, time of last change; and the file itself, held so
 * that it can be read when the program has deleted it. */
#ifndef RL_SAMPLE_BUILDID_H
#define RL_SAMPLE_BUILDID_H

#include "sample/sample.h"

/** Where a file is, or was, mapped: that is another way to it than its path, which may be gone, or
 * be that of a container. */
struct module_mapping {
    int32_t pid;
    uint64_t start, end;
    int program_fd; /**< what the first process was started from; -1: not held */
};

/** Fill build_id, inode (if 0), size_bytes and mtime_ns from the file, as far as it can be read,
 * and hold it; a file that is not the mapped inode, or no well-formed ELF file, gives no build id.
 */
void module_identify(struct rl_sample_module *module, const struct module_mapping *mapping);
void module_release(struct rl_sample_module *module);

/**
 * The GNU build id in a note segment.
 * @param note  [n] bytes of any content.
 * @return its length, 0 if there is none; at most RL_SAMPLE_BUILD_ID_MAX bytes are written.
 */
size_t build_id_from_notes(const uint8_t *note, size_t n, uint8_t ret_id[RL_SAMPLE_BUILD_ID_MAX]);

#endif
