/* SPDX-License-Identifier: MIT */
/* Which parameter is refused, and errors in words. A program that calls none of these functions need
 * not carry this file. */
#include "tcuq_internal.h"

/* A struct of tcuq.h and its list of tcuq_fields.h are the same: a struct made of the list has each member at the
 * same place. */
#define AS_NUMBER(name, type, low, high, bytes) type name;
#define AS_LIST(name, type, low, high) const type *name;
#define AS_TABLE(name, type, low, high) type name[TCUQ_SIGNAL_COUNT];
#define AS_HEAD(name, type) const type *name;
typedef struct {
    TCUQ_PARAMS_FIELDS(AS_NUMBER, AS_LIST, AS_TABLE, AS_HEAD)
} listed_params_t;
typedef struct {
    TCUQ_EVIDENCE_FIELDS(AS_NUMBER, AS_LIST, AS_TABLE)
} listed_evidence_t;
typedef struct {
    TCUQ_INSTANT_FIELDS(AS_NUMBER, AS_LIST, AS_TABLE)
} listed_instant_t;
typedef struct {
    TCUQ_FEEDBACK_FIELDS(AS_NUMBER, AS_LIST, AS_TABLE)
} listed_feedback_t;

#define SAME_PLACE(written, listed, name)                                                               \
    &&offsetof(written, name) == offsetof(listed, name) && sizeof(((const written *)0)->name) == \
        sizeof(((const listed *)0)->name)
#define PARAM_PLACE(name, ...) SAME_PLACE(tcuq_params_t, listed_params_t, name)
#define EVIDENCE_PLACE(name, ...) SAME_PLACE(tcuq_evidence_t, listed_evidence_t, name)
#define INSTANT_PLACE(name, ...) SAME_PLACE(tcuq_instant_t, listed_instant_t, name)
#define FEEDBACK_PLACE(name, ...) SAME_PLACE(tcuq_feedback_t, listed_feedback_t, name)
#define ONE_SIGNAL(name, meaning) +1
typedef char tcuq_internal_params_listed
    [sizeof(tcuq_params_t) == sizeof(listed_params_t) TCUQ_PARAMS_FIELDS(PARAM_PLACE, PARAM_PLACE, PARAM_PLACE,
                                                                         PARAM_PLACE) ? 1 : -1];
typedef char tcuq_internal_evidence_listed
    [sizeof(tcuq_evidence_t) == sizeof(listed_evidence_t) TCUQ_EVIDENCE_FIELDS(EVIDENCE_PLACE, EVIDENCE_PLACE,
                                                                               EVIDENCE_PLACE) ? 1 : -1];
typedef char tcuq_internal_instant_listed
    [sizeof(tcuq_instant_t) == sizeof(listed_instant_t) TCUQ_INSTANT_FIELDS(INSTANT_PLACE, INSTANT_PLACE,
                                                                            INSTANT_PLACE) ? 1 : -1];
typedef char tcuq_internal_feedback_listed
    [sizeof(tcuq_feedback_t) == sizeof(listed_feedback_t) TCUQ_FEEDBACK_FIELDS(FEEDBACK_PLACE, FEEDBACK_PLACE,
                                                                               FEEDBACK_PLACE) ? 1 : -1];
typedef char tcuq_internal_signals_listed[(0 TCUQ_SIGNAL_LIST(ONE_SIGNAL)) == TCUQ_SIGNAL_COUNT &&
                                          TCUQ_ALL_SIGNALS == TCUQ_BIT(TCUQ_SIGNAL_COUNT) - 1u ? 1 : -1];

#define CHECK_PARAM(name, type, low, high, bytes) \
    if (OUTSIDE(type, p->name, low, high)) {      \
        return TCUQ_ERR_PARAM_##name;             \
    }
#define CHECK_EVIDENCE(name, type, low, high, bytes)                      \
    if (evidence != NULL && OUTSIDE(type, evidence->name, low, high)) { \
        return TCUQ_ERR_EVIDENCE_##name;                                  \
    }
#define CHECK_INSTANT(name, type, low, high, bytes)                   \
    if (instant != NULL && OUTSIDE(type, instant->name, low, high)) { \
        return TCUQ_ERR_INSTANT_##name;                               \
    }
#define CHECK_FEEDBACK(name, type, low, high, bytes)                    \
    if (feedback != NULL && OUTSIDE(type, feedback->name, low, high)) { \
        return TCUQ_ERR_FEEDBACK_##name;                                \
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
    TCUQ_PARAMS_FIELDS(CHECK_PARAM, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)
    TCUQ_EVIDENCE_FIELDS(CHECK_EVIDENCE, TCUQ_NO_LIST, TCUQ_NO_LIST)
    TCUQ_INSTANT_FIELDS(CHECK_INSTANT, TCUQ_NO_LIST, TCUQ_NO_LIST)
    TCUQ_FEEDBACK_FIELDS(CHECK_FEEDBACK, TCUQ_NO_LIST, TCUQ_NO_LIST)
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

/* The digits of a range, macros replaced by their values. */
#define DIGITS(number) AS_TEXT(number)
#define AS_TEXT(number) #number

#define PARAM_NAME(name, type, low, high, bytes) case TCUQ_ERR_PARAM_##name: return #name;
#define EVIDENCE_NAME(name, type, low, high, bytes) case TCUQ_ERR_EVIDENCE_##name: return "evidence " #name;
#define INSTANT_NAME(name, type, low, high, bytes) case TCUQ_ERR_INSTANT_##name: return "instant " #name;
#define FEEDBACK_NAME(name, type, low, high, bytes) case TCUQ_ERR_FEEDBACK_##name: return "feedback " #name;
#define RULE_NAME(name, field, condition, expected) case TCUQ_ERR_RULE_##name: return #field;

const char *tcuq_error_name(int error)
{
    switch (error) {
        TCUQ_PARAMS_FIELDS(PARAM_NAME, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)
        TCUQ_EVIDENCE_FIELDS(EVIDENCE_NAME, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_INSTANT_FIELDS(INSTANT_NAME, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_FEEDBACK_FIELDS(FEEDBACK_NAME, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_RULES(RULE_NAME)
    case TCUQ_ERR_PARAMS: return "params";
    case TCUQ_ERR_SIGNALS: return "signals";
    case TCUQ_ERR_SIZE: return "size";
    case TCUQ_ERR_VERSION: return "version";
    case TCUQ_ERR_STATE:
    case TCUQ_ERR_OTHER: return "state";
    case TCUQ_ERR_LABEL: return "label";
    case TCUQ_ERR_STEP:
    case TCUQ_ERR_LABELED: return "step";
    default: return "";
    }
}

#define PARAM_RANGE(name, type, low, high, bytes) case TCUQ_ERR_PARAM_##name: return DIGITS(low) " to " DIGITS(high);
#define EVIDENCE_RANGE(name, type, low, high, bytes) \
    case TCUQ_ERR_EVIDENCE_##name: return DIGITS(low) " to " DIGITS(high);
#define INSTANT_RANGE(name, type, low, high, bytes) \
    case TCUQ_ERR_INSTANT_##name: return DIGITS(low) " to " DIGITS(high);
#define FEEDBACK_RANGE(name, type, low, high, bytes) \
    case TCUQ_ERR_FEEDBACK_##name: return DIGITS(low) " to " DIGITS(high);
#define RULE_TEXT(name, field, condition, expected) case TCUQ_ERR_RULE_##name: return expected;

const char *tcuq_error_text(int error)
{
    switch (error) {
        TCUQ_PARAMS_FIELDS(PARAM_RANGE, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)
        TCUQ_EVIDENCE_FIELDS(EVIDENCE_RANGE, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_INSTANT_FIELDS(INSTANT_RANGE, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_FEEDBACK_FIELDS(FEEDBACK_RANGE, TCUQ_NO_LIST, TCUQ_NO_LIST)
        TCUQ_RULES(RULE_TEXT)
    case TCUQ_ERR_PARAMS: return "what tcuq_check() accepts; it says which one is refused";
    case TCUQ_ERR_SIGNALS: return "only what this build has (TCUQ_SIGNALS)";
    case TCUQ_ERR_SIZE: return "a larger buffer, or a state of tcuq_state_size() bytes";
    case TCUQ_ERR_VERSION: return "the layout of this tcuq.h: fit or export again";
    case TCUQ_ERR_STATE: return "undamaged bytes of tcuq_save()";
    case TCUQ_ERR_OTHER: return "one saved with the same parameters";
    case TCUQ_ERR_LABEL: return "a class, TCUQ_RIGHT or TCUQ_WRONG";
    case TCUQ_ERR_STEP: return "one of the last steps, as many as `memory`, numbered from 0";
    case TCUQ_ERR_LABELED: return "one without a label";
    default: return "";
    }
}
