/* SPDX-License-Identifier: MIT */
/* Which parameter is refused, and errors in words. A program that calls none of these functions need
 * not carry this file. */
#include "tcuq_rules.h"

static int check_ranges(const tcuq_params_t *p)
{
    const tcuq_evidence_t *head = head_of(p);
    const tcuq_instant_t *instant = instant_of(p);
#define TCUQ_FIELD(name, type, low, high, bytes) \
    if (OUTSIDE(type, p->name, low, high)) {           \
        return TCUQ_ERR_PARAM_##name;            \
    }
#define TCUQ_HEAD_FIELD(name, type, low, high)              \
    if (head != NULL && OUTSIDE(type, head->name, low, high)) {   \
        return TCUQ_ERR_HEAD_##name;                        \
    }
#define TCUQ_INSTANT_FIELD(name, type, low, high)                   \
    if (instant != NULL && OUTSIDE(type, instant->name, low, high)) { \
        return TCUQ_ERR_INSTANT_##name;                             \
    }
#include "tcuq_fields.h"
    return TCUQ_OK;
}

static int check_rules(const tcuq_params_t *p)
{
#define RULE(name, condition)        \
    if (!(condition)) {              \
        return TCUQ_ERR_RULE_##name; \
    }
#include "tcuq_rules.h"
    return TCUQ_OK;
}

int tcuq_check(const tcuq_params_t *p)
{
    int error;
    if (p->version != TCUQ_PARAMS_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    error = check_ranges(p);
    if (error != TCUQ_OK) {
        return error;
    }
    /* Rules speak of the signals that this build has: that it lacks some is then the cause. */
    return build_can(p) ? check_rules(p) : TCUQ_ERR_SIGNALS;
}

/* The digits of a range, macros replaced by their values. */
#define DIGITS(number) AS_TEXT(number)
#define AS_TEXT(number) #number

const char *tcuq_error_name(int error)
{
    switch (error) {
#define TCUQ_FIELD(name, type, low, high, bytes) case TCUQ_ERR_PARAM_##name: return #name;
#define TCUQ_HEAD_FIELD(name, type, low, high) case TCUQ_ERR_HEAD_##name: return "evidence " #name;
#define TCUQ_INSTANT_FIELD(name, type, low, high) case TCUQ_ERR_INSTANT_##name: return "instant " #name;
#define TCUQ_RULE(name, field, expected) case TCUQ_ERR_RULE_##name: return #field;
#include "tcuq_fields.h"
    case TCUQ_ERR_PARAMS: return "params";
    case TCUQ_ERR_SIGNALS: return "signals";
    case TCUQ_ERR_SIZE: return "size";
    case TCUQ_ERR_VERSION: return "version";
    case TCUQ_ERR_STATE:
    case TCUQ_ERR_OTHER: return "state";
    default: return "";
    }
}

const char *tcuq_error_text(int error)
{
    switch (error) {
#define TCUQ_FIELD(name, type, low, high, bytes) \
    case TCUQ_ERR_PARAM_##name: return DIGITS(low) " to " DIGITS(high);
#define TCUQ_HEAD_FIELD(name, type, low, high) \
    case TCUQ_ERR_HEAD_##name: return DIGITS(low) " to " DIGITS(high);
#define TCUQ_INSTANT_FIELD(name, type, low, high) \
    case TCUQ_ERR_INSTANT_##name: return DIGITS(low) " to " DIGITS(high);
#define TCUQ_RULE(name, field, expected) case TCUQ_ERR_RULE_##name: return expected;
#include "tcuq_fields.h"
    case TCUQ_ERR_PARAMS: return "what tcuq_check() accepts; it says which one is refused";
    case TCUQ_ERR_SIGNALS: return "only what this build has (TCUQ_SIGNALS, TCUQ_EVIDENCE, TCUQ_PERSISTENCE)";
    case TCUQ_ERR_SIZE: return "a larger buffer, or a state of tcuq_state_size() bytes";
    case TCUQ_ERR_VERSION: return "the layout of this tcuq.h";
    case TCUQ_ERR_STATE: return "undamaged bytes of tcuq_save()";
    case TCUQ_ERR_OTHER: return "one saved with the same parameters";
    default: return "";
    }
}
