/* A small mutating fuzzer, so that every parser is fuzzed wherever the tests run. Each
 * fuzz_<topic>.c defines LLVMFuzzerTestOneInput and can as well be linked with libFuzzer
 * (-DROOFLINE_LIBFUZZER=ON with clang).
 *
 * usage: fuzz_<topic> SEEDS [ROUNDS] [SEED]   or   fuzz_<topic> FILE   to run one input */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SEEDS = 64, MAX_BYTES = 1 << 16, DEFAULT_ROUNDS = 20000, MAX_EDITS = 8 };

struct input {
    uint8_t *data;
    size_t size;
};

static uint64_t random_state;

/* xorshift64*: Vigna, 2016. */
static uint64_t random_u64(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1DULL;
}

static size_t below(size_t n)
{
    return n ? (size_t)(random_u64() % n) : 0;
}

static struct input load(const char *path)
{
    struct input in = {malloc(MAX_BYTES), 0};
    FILE *file = fopen(path, "rb");
    if (!file || !in.data) {
        perror(path);
        exit(2);
    }
    in.size = fread(in.data, 1, MAX_BYTES, file);
    fclose(file);
    return in;
}

/* Bytes that parsers stumble over. */
static const char *const tokens[] = {"0",        "-1",   "1e999",    "18446744073709551616",
                                     "\"",       "{",    "}",        "[",
                                     "]",        "null", "\xff\xfe", "\n",
                                     "\r\n",     "%",    ",,",       ":",
                                     "\x00\x01", "nan",  "-",        "  ",
                                     "\t"};

static size_t insert_token(uint8_t *data, size_t size)
{
    const char *token = tokens[below(sizeof tokens / sizeof tokens[0])];
    size_t n = strlen(token), at = below(size + 1);
    if (size + n > MAX_BYTES)
        return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, token, n);
    return size + n;
}

static size_t remove_span(uint8_t *data, size_t size)
{
    size_t at = below(size), n = 1 + below(16);
    if (n > size - at)
        n = size - at;
    memmove(data + at, data + at + n, size - at - n);
    return size - n;
}

static size_t copy_span(uint8_t *data, size_t size)
{
    size_t from = below(size), to = below(size), n = 1 + below(64);
    if (n > size - from)
        n = size - from;
    if (n > size - to)
        n = size - to;
    memmove(data + to, data + from, n);
    return size;
}

static size_t mutate(uint8_t *data, size_t size)
{
    for (size_t edits = 1 + below(MAX_EDITS); edits > 0; edits--) {
        size_t kind = size ? below(6) : 2;
        if (kind == 0)
            data[below(size)] = (uint8_t)random_u64();
        else if (kind == 1)
            data[below(size)] ^= (uint8_t)(1u << below(8));
        else if (kind == 2)
            size = insert_token(data, size);
        else if (kind == 3)
            size = remove_span(data, size);
        else if (kind == 4)
            size = copy_span(data, size);
        else if (below(8) == 0)
            size = below(size);
    }
    return size;
}

static size_t load_seeds(const char *folder, struct input *seeds)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        exit(2);
    }
    for (struct dirent *entry; n < MAX_SEEDS && (entry = readdir(dir)) != NULL;) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        seeds[n++] = load(path);
    }
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    struct stat st;
    if (argc < 2 || stat(argv[1], &st) != 0) {
        fprintf(stderr, "usage: %s SEEDS [ROUNDS] [SEED] | FILE\n", argv[0]);
        return 2;
    }
    if (!S_ISDIR(st.st_mode)) {
        struct input one = load(argv[1]);
        LLVMFuzzerTestOneInput(one.data, one.size);
        free(one.data);
        return 0;
    }
    struct input seeds[MAX_SEEDS];
    size_t n_seeds = load_seeds(argv[1], seeds);
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : DEFAULT_ROUNDS;
    random_state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    uint8_t *data = malloc(MAX_BYTES);
    for (size_t i = 0; i < n_seeds; i++)
        LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
    for (long round = 0; data && n_seeds && round < rounds; round++) {
        const struct input *seed = &seeds[below(n_seeds)];
        memcpy(data, seed->data, seed->size);
        size_t size = mutate(data, seed->size);
        uint8_t *exact = malloc(size ? size : 1); /* its own block, so that overreads are seen */
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%ld rounds over %zu seeds\n", rounds, n_seeds);
    for (size_t i = 0; i < n_seeds; i++)
        free(seeds[i].data);
    free(data);
    return n_seeds ? 0 : 2;
}
