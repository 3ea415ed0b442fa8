/* Declares as much of MicroPython as an exported module uses, for a compiler that only looks. The test writes
 * qstrs.h, as MicroPython's own build does, from the names that the module has. */
#ifndef TCUQ_TEST_MICROPYTHON_H
#define TCUQ_TEST_MICROPYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qstrs.h"

#define MICROPY_PY_ATTRTUPLE 1

typedef struct stub_object *mp_obj_t;
typedef const void *mp_const_obj_t;
typedef intptr_t mp_int_t;
typedef uintptr_t mp_uint_t;
typedef unsigned qstr;
typedef const char *mp_rom_error_text_t;
typedef struct stub_type mp_obj_type_t;
typedef struct {
    const mp_obj_type_t *type;
} mp_obj_base_t;
typedef struct {
    void *buf;
    size_t len;
    int typecode;
} mp_buffer_info_t;
typedef struct {
    size_t alloc, len;
    char *buf;
} vstr_t;
typedef struct {
    mp_const_obj_t key, value;
} mp_rom_map_elem_t;
typedef struct {
    size_t used;
    const mp_rom_map_elem_t *table;
} mp_obj_dict_t;
typedef struct {
    mp_obj_base_t base;
    mp_obj_dict_t *globals;
} mp_obj_module_t;
typedef struct {
    const char *text;
} stub_string_t;
typedef struct {
    mp_obj_t (*call0)(void);
    mp_obj_t (*call1)(mp_obj_t);
    mp_obj_t (*call2)(mp_obj_t, mp_obj_t);
    mp_obj_t (*call3)(mp_obj_t, mp_obj_t, mp_obj_t);
    mp_obj_t (*call)(size_t, const mp_obj_t *);
    size_t least, most;
} stub_function_t;
struct stub_type {
    qstr name;
    mp_obj_t (*make_new)(const mp_obj_type_t *, size_t, size_t, const mp_obj_t *);
    const mp_obj_dict_t *locals;
};

#define MP_BUFFER_READ 1
#define BYTEARRAY_TYPECODE 1
#define MP_TYPE_FLAG_NONE 0
#define MP_ERROR_TEXT(text) (text)
#define MP_ROM_QSTR(name) ((mp_const_obj_t)(uintptr_t)(name))
#define MP_ROM_PTR(object) ((mp_const_obj_t)(object))
#define MP_ROM_INT(number) ((mp_const_obj_t)(uintptr_t)(number))
#define MP_OBJ_FROM_PTR(pointer) ((mp_obj_t)(pointer))
#define MP_OBJ_TO_PTR(object) ((void *)(object))
#define MP_OBJ_NEW_SMALL_INT(number) ((mp_obj_t)(intptr_t)(number))
#define MP_DEFINE_CONST_FUN_OBJ_0(name, function) const stub_function_t name = {.call0 = (function)}
#define MP_DEFINE_CONST_FUN_OBJ_1(name, function) const stub_function_t name = {.call1 = (function)}
#define MP_DEFINE_CONST_FUN_OBJ_2(name, function) const stub_function_t name = {.call2 = (function)}
#define MP_DEFINE_CONST_FUN_OBJ_3(name, function) const stub_function_t name = {.call3 = (function)}
#define MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(name, few, many, function) \
    const stub_function_t name = {.call = (function), .least = (few), .most = (many)}
#define MP_DEFINE_CONST_DICT(name, entries) \
    const mp_obj_dict_t name = {sizeof(entries) / sizeof(entries)[0], (entries)}
#define MP_DEFINE_STR_OBJ(name, string) stub_string_t name = {string}
#define MP_DEFINE_CONST_OBJ_TYPE(type, title, flags, slot1, made, slot2, dict) \
    const mp_obj_type_t type = {(title), (made), (dict)}
#define MP_REGISTER_MODULE(title, module) extern const mp_obj_module_t module
#define m_new(type, count) ((type *)stub_memory(sizeof(type) * (count)))
#define m_del(type, memory, count) stub_free((memory), sizeof(type) * (count))
#define mp_obj_malloc(struct_type, type) ((struct_type *)stub_object(sizeof(struct_type), (type)))
#define mp_const_none ((mp_obj_t)0)

extern const mp_obj_type_t mp_type_ValueError, mp_type_module;
void *stub_memory(size_t size);
void *stub_object(size_t size, const mp_obj_type_t *type);
void stub_free(void *memory, size_t size);
void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, unsigned flags);
void mp_raise_msg_varg(const mp_obj_type_t *type, mp_rom_error_text_t text, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
void mp_raise_ValueError(mp_rom_error_text_t text) __attribute__((noreturn));
void mp_arg_check_num(size_t positional, size_t named, size_t least, size_t most, bool takes_named);
mp_obj_t mp_obj_new_bool(mp_int_t value);
mp_obj_t mp_obj_new_int(mp_int_t value);
mp_int_t mp_obj_get_int(mp_obj_t object);
mp_int_t mp_obj_get_int_truncated(mp_const_obj_t object);
mp_obj_t mp_obj_new_int_from_uint(mp_uint_t value);
mp_int_t mp_obj_get_int_truncated(mp_const_obj_t object);
bool mp_obj_is_type(mp_const_obj_t object, const mp_obj_type_t *type);
mp_obj_t mp_obj_new_bytes(const uint8_t *bytes, size_t count);
mp_obj_t mp_obj_new_str_from_cstr(const char *text);
mp_obj_t mp_obj_new_tuple(size_t count, const mp_obj_t *items);
mp_obj_t mp_obj_new_attrtuple(const qstr *fields, size_t count, const mp_obj_t *items);
mp_obj_t mp_obj_new_bytes_from_vstr(vstr_t *text);
void vstr_init_len(vstr_t *text, size_t length);

#endif
