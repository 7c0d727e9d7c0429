#include "symbol/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checking a larger file's sum would take longer than it is worth. */
#define LARGEST_CHECKED ((off_t)256 << 20)

int regular_file_open(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* The checksum of .gnu_debuglink: CRC-32 as in zlib. */
static uint32_t crc32_of(uint32_t crc, const uint8_t *data, size_t n, const uint32_t *table)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
        crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static bool has_checksum(int fd, uint32_t expected)
{
    uint32_t table[256], crc = 0;
    uint8_t buffer[16384];
    struct stat info;
    ssize_t n;
    if (fstat(fd, &info) || info.st_size > LARGEST_CHECKED)
        return false;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
    }
    for (off_t at = 0; (n = pread(fd, buffer, sizeof buffer, at)) > 0; at += n)
        crc = crc32_of(crc, buffer, (size_t)n, table);
    return n == 0 && crc == expected;
}

static int try_open(char *path, const uint32_t *crc, char **ret_path)
{
    int fd = path ? regular_file_open(path) : -1;
    if (fd >= 0 && crc && !has_checksum(fd, *crc)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        *ret_path = path;
    else
        free(path);
    return fd;
}

static char *build_id_path(const char *debug_dir, const uint8_t *id, size_t size)
{
    char hex[2 * 64 + 1];
    char *path = NULL;
    if (size < 2 || size > 64)
        return NULL;
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2) < 0)
        return NULL;
    return path;
}

static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

int debug_file_open(const struct debug_search *search, const char *file, const uint8_t *id,
                    size_t id_size, const char *link, uint32_t crc, char **ret_path)
{
    char *path = build_id_path(search->debug_dir, id, id_size);
    int fd = try_open(path, NULL, ret_path);
    if (fd >= 0 || !link || strchr(link, '/'))
        return fd;
    for (unsigned i = 0; i < 3 && fd < 0; i++) {
        const char *root = i == 2 ? search->debug_dir : "", *below = i == 1 ? "/.debug" : "";
        /* The link may name the stripped file itself: its checksum then differs. */
        if (asprintf(&path, "%s%.*s%s/%s", root, folder_length(file), file, below, link) < 0)
            return -1;
        fd = try_open(path, &crc, ret_path);
    }
    return fd;
}

int debug_file_open_alternate(const struct debug_search *search, const char *debug_file,
                              const char *link, char **ret_path)
{
    char *path = NULL;
    (void)search;
    if (!link)
        return -1;
    if (link[0] == '/' || !debug_file) {
        path = strdup(link);
    } else if (asprintf(&path, "%.*s/%s", folder_length(debug_file), debug_file, link) < 0) {
        return -1;
    }
    return try_open(path, NULL, ret_path);
}
