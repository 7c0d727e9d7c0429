/* What identifies a mapped file: build id, size, time of last change. */
#ifndef RL_SAMPLE_BUILDID_H
#define RL_SAMPLE_BUILDID_H

#include "sample/sample.h"

/** Fill build_id, inode (if 0), size_bytes and mtime_ns from module->path, as far as it can be
 * read; a file that is not the mapped inode, or no well-formed ELF file, gives no build id. */
void module_identify(struct rl_sample_module *module);

/**
 * The GNU build id in a note segment.
 * @param note  [n] bytes of any content.
 * @return its length, 0 if there is none; at most RL_SAMPLE_BUILD_ID_MAX bytes are written.
 */
size_t build_id_from_notes(const uint8_t *note, size_t n, uint8_t ret_id[RL_SAMPLE_BUILD_ID_MAX]);

#endif
