/* SPDX-License-Identifier: MIT */
/* Which parameter is refused, and errors in words. A program that calls none of these functions need
 * not carry this file. */
#include "tcuq_internal.h"

#define CHECK(error, of, name, type, low, high, bytes, usual) \
    if (OUTSIDE(type, (of)->name, low, high)) {        \
        return TCUQ_ERR_##error##_##name;              \
    }
#define CHECK_RULE(name, field, condition, expected) \
    if (!(condition)) {                              \
        return TCUQ_ERR_RULE_##name;                 \
    }

static int check_ranges(const tcuq_params_t *p)
{
    const tcuq_evidence_t *evidence = evidence_head(p);
    const tcuq_instant_t *instant = instant_head(p);
    const tcuq_feedback_t *feedback = feedback_head(p);
    const tcuq_sight_t *sight = sight_head(p);
    TCUQ_PARAM_NUMBERS(CHECK)
    if (evidence != NULL) {
        TCUQ_EVIDENCE_NUMBERS(CHECK)
    }
    if (instant != NULL) {
        TCUQ_INSTANT_NUMBERS(CHECK)
    }
    if (sight != NULL) {
        TCUQ_SIGHT_NUMBERS(CHECK)
    }
    if (feedback != NULL) {
        TCUQ_FEEDBACK_NUMBERS(CHECK)
    }
    return TCUQ_OK;
}

static int check_rules(const tcuq_params_t *p)
{
    TCUQ_RULES(CHECK_RULE)
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

/* Errors in words: those of parameters and rules in the order of their numbers, then the others. */
#define OF_PARAM ""
#define OF_EVIDENCE "evidence "
#define OF_INSTANT "instant "
#define OF_SIGHT "sight "
#define OF_FEEDBACK "feedback "
#define WORDS(error, of, name, type, low, high, bytes, usual) {OF_##error #name, #low " to " #high},
#define RULE_WORDS(name, field, condition, expected) {#field, expected},
#define ERROR_WORDS(of, expected) {of, expected},
static const char *const words[][2] = {
    TCUQ_NUMBERS(WORDS) TCUQ_RULES(RULE_WORDS) TCUQ_ERRORS(ERROR_WORDS) {"", ""}};

/* Where the words of an error are; the last are of what is none. */
static int place_of(int error)
{
    int of_params = TCUQ_ERR_LAST_PARAM - TCUQ_ERR_FIRST_PARAM - 1, last = (int)(sizeof words / sizeof words[0]) - 1;
    if (error > TCUQ_ERR_FIRST_PARAM && error < TCUQ_ERR_LAST_PARAM) {
        return error - TCUQ_ERR_FIRST_PARAM - 1;
    }
    return error < 0 && error >= of_params - last ? of_params - 1 - error : last;
}

const char *tcuq_error_name(int error)
{
    return words[place_of(error)][0];
}

const char *tcuq_error_text(int error)
{
    return words[place_of(error)][1];
}
