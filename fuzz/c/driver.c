/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target where the compiler has no libFuzzer: replays files, then mutates them at random. It understands the
 * options of libFuzzer that fuzz/run.py gives. No coverage guides it, so it finds less. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source.h"

enum { MOST_FILES = 4096, MOST_BYTES = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***words);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static uint8_t *corpus[MOST_FILES];
static size_t sizes[MOST_FILES];
static unsigned files;
static uint8_t input[MOST_BYTES]; /* as it is given to the target */
static size_t input_size;
static size_t most = MOST_BYTES;
static char artifact[4096];
static uint64_t seed = 1;

/* Keep the input that ended the program. */
static void keep(int signal_number)
{
    FILE *file = fopen(artifact, "wb");
    if (file != NULL) {
        fwrite(input, 1, input_size, file);
        fclose(file);
        fprintf(stderr, "Test unit written to %s\n", artifact);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void read_one(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || files == MOST_FILES) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    corpus[files] = (uint8_t *)malloc(MOST_BYTES);
    if (corpus[files] == NULL) {
        exit(2);
    }
    sizes[files] = fread(corpus[files], 1, MOST_BYTES, file);
    files++;
    fclose(file);
}

static void read_all(const char *path)
{
    struct stat about;
    struct dirent **found;
    char name[4096];
    int count, i;
    if (stat(path, &about) != 0) {
        fprintf(stderr, "%s is not there\n", path);
        exit(2);
    }
    if (!S_ISDIR(about.st_mode)) {
        read_one(path);
        return;
    }
    count = scandir(path, &found, NULL, alphasort); /* sorted, so that a seed gives the same run */
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%s", path, found[i]->d_name);
        if (found[i]->d_name[0] != '.' && files < MOST_FILES) {
            read_one(name);
        }
        free(found[i]);
    }
    free(found);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit)
{
    unsigned changes = 1u + (unsigned)(random64(&seed) % 4u);
    for (; changes > 0u; changes--) {
        uint64_t dice = random64(&seed);
        size_t at = size == 0u ? 0u : (size_t)(dice >> 16) % size;
        switch (dice % 6u) {
        case 0: /* insert */
            if (size < limit) {
                memmove(data + at + 1u, data + at, size - at);
                data[at] = (uint8_t)(dice >> 8);
                size++;
            }
            break;
        case 1: /* remove */
            if (size > 1u && limit > size) {
                memmove(data + at, data + at + 1u, size - at - 1u);
                size--;
            }
            break;
        case 2:
            if (size > 0u) {
                data[at] = (uint8_t)(data[at] ^ 1u << (dice >> 8 & 7u));
            }
            break;
        case 3:
            if (size > 0u) {
                data[at] = (uint8_t)((dice & 256u) != 0u ? 0xFFu : 0u);
            }
            break;
        case 4: /* a part of another file */
            if (files > 0u && size > 0u) {
                unsigned other = (unsigned)(dice >> 40) % files;
                size_t length = sizes[other] < size - at ? sizes[other] : size - at;
                memcpy(data + at, corpus[other], length);
            }
            break;
        default:
            if (size > 0u) {
                data[at] = (uint8_t)(dice >> 8);
            }
            break;
        }
    }
    return size;
}

static void run_input(const uint8_t *data, size_t size)
{
    uint8_t *exact = (uint8_t *)malloc(size == 0u ? 1u : size); /* a read past the end is seen */
    if (exact == NULL) {
        exit(2);
    }
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int count, char **words)
{
    static const int ends[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const char *prefix = "./";
    long runs = -1, seconds = 0, done = 0;
    time_t begun;
    unsigned i;
    int n;
    for (n = 1; n < count; n++) {
        if (strncmp(words[n], "-runs=", 6) == 0) {
            runs = atol(words[n] + 6);
        } else if (strncmp(words[n], "-seed=", 6) == 0) {
            seed = strtoull(words[n] + 6, NULL, 10);
        } else if (strncmp(words[n], "-max_total_time=", 16) == 0) {
            seconds = atol(words[n] + 16);
        } else if (strncmp(words[n], "-max_len=", 9) == 0) {
            most = strtoul(words[n] + 9, NULL, 10);
            most = most < MOST_BYTES ? most : MOST_BYTES;
        } else if (strncmp(words[n], "-artifact_prefix=", 17) == 0) {
            prefix = words[n] + 17;
        } else if (words[n][0] != '-') {
            read_all(words[n]);
        }
    }
    snprintf(artifact, sizeof artifact, "%scrash-%lu", prefix, (unsigned long)seed);
    LLVMFuzzerInitialize(&count, &words);
    for (i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        signal(ends[i], keep);
    }
    begun = time(NULL);
    for (i = 0; i < files; i++, done++) {
        input_size = sizes[i];
        memcpy(input, corpus[i], input_size);
        run_input(input, input_size);
    }
    while ((runs < 0 || done < runs) && (seconds > 0 || runs > 0) && (seconds == 0 || time(NULL) - begun < seconds)) {
        unsigned from = files == 0u ? 0u : (unsigned)(random64(&seed) >> 32) % files;
        input_size = files == 0u ? 1u : sizes[from] < most ? sizes[from] : most;
        memcpy(input, files == 0u ? (const uint8_t *)"\0" : corpus[from], input_size);
        input_size = LLVMFuzzerCustomMutator != NULL
                         ? LLVMFuzzerCustomMutator(input, input_size, most, (unsigned)random64(&seed))
                         : LLVMFuzzerMutate(input, input_size, most);
        run_input(input, input_size);
        done++;
    }
    fprintf(stderr, "stat::number_of_executed_units: %ld\n", done);
    return 0;
}
