/* The head of a 64-bit ELF file, for what has to be known of a program or library without a library
 * that reads such files whole. */
#ifndef RL_BASE_ELF_H
#define RL_BASE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Read `size` bytes at `offset`. @return false if the file does not have them. */
bool rl_elf_read(int fd, void *ret, size_t size, uint64_t offset);

/** @return false for what is no 64-bit ELF file, or has program headers of another layout. */
bool rl_elf_head(int fd, Elf64_Ehdr *ret_head);

/** Program header `i`, below head->e_phnum. @return false if the file ends before it does. */
bool rl_elf_segment(int fd, const Elf64_Ehdr *head, unsigned i, Elf64_Phdr *ret_segment);

#endif
