/* SPDX-License-Identifier: MIT */
/* Emulator plugin: counts the instructions that a guest executes.
 *
 *     -plugin count.so                                       the total, on standard error when the guest ends
 *     -plugin count.so,out=FILE,region=BEGIN:END,region=...  between two addresses, every time
 *
 * FILE receives a line "region NUMBER INSTRUCTIONS" for every passage from the execution of BEGIN to that of END,
 * addresses in hexadecimal, and at the end a line "block NUMBER ADDRESS INSTRUCTIONS TIMES" for every straight run of
 * instructions that was executed in region NUMBER. Debian packages the emulator without its plugin header, so the
 * few functions that are used are declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* Emulators of the API's first version, 4.2 to 8.2. */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int operation, void *counter,
                                              uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*callback)(unsigned, void *),
                                            int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void *),
                                    void *data);

#define REGIONS 8

/* A straight run of instructions, entered at its first one alone. */
struct block {
    uint64_t address;
    uint64_t length;
    uint64_t times;
    uint64_t before;         /* `times` when the region was entered */
    uint64_t inside[REGIONS];
    struct block *next;
};

static struct {
    uint64_t begin;
    uint64_t end;
} regions[REGIONS];
static size_t region_count;
static uint64_t total, entered;
static struct block *blocks;
static FILE *out;

static void begins(unsigned cpu, void *data)
{
    struct block *block;
    (void)cpu;
    (void)data;
    for (block = blocks; block != NULL; block = block->next) {
        block->before = block->times;
    }
    entered = total;
}

static void ends(unsigned cpu, void *data)
{
    size_t number = (size_t)data;
    struct block *block;
    (void)cpu;
    fprintf(out, "region %zu %" PRIu64 "\n", number, total - entered);
    for (block = blocks; block != NULL; block = block->next) {
        block->inside[number] += block->times - block->before;
    }
}

/* Adding a block's length when it is entered is exact: a guest that takes no signals or interrupts runs a block to
 * its end. An address that is reached by calls alone is the first of its block. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    uint64_t length = qemu_plugin_tb_n_insns(tb);
    uint64_t address = qemu_plugin_tb_vaddr(tb);
    struct block *block;
    size_t i;
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &total, length);
    if (out == NULL) {
        return;
    }
    block = calloc(1, sizeof *block);
    if (block == NULL) {
        abort();
    }
    block->address = address;
    block->length = length;
    block->next = blocks;
    blocks = block;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &block->times, 1);
    for (i = 0; i < region_count; i++) {
        if (address == regions[i].begin || address == regions[i].end) {
            qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, 0),
                                                   address == regions[i].begin ? begins : ends, 0, (void *)i);
        }
    }
}

static void ended(qemu_plugin_id_t id, void *data)
{
    struct block *block;
    size_t i;
    (void)id;
    (void)data;
    if (out == NULL) {
        fprintf(stderr, "instructions %" PRIu64 "\n", total);
        return;
    }
    for (block = blocks; block != NULL; block = block->next) {
        for (i = 0; i < region_count; i++) {
            if (block->inside[i] != 0u) {
                fprintf(out, "block %zu %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", i, block->address, block->length,
                        block->inside[i]);
            }
        }
    }
    fclose(out);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info,
                                                               int count, char **arguments)
{
    int i;
    (void)info;
    for (i = 0; i < count; i++) {
        if (strncmp(arguments[i], "out=", 4) == 0) {
            out = fopen(arguments[i] + 4, "w");
            if (out == NULL) {
                return 1;
            }
        } else if (region_count < REGIONS && sscanf(arguments[i], "region=%" SCNx64 ":%" SCNx64,
                                                    &regions[region_count].begin, &regions[region_count].end) == 2) {
            region_count++;
        } else {
            fprintf(stderr, "count: %s is not understood\n", arguments[i]);
            return 1;
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
