/* SPDX-License-Identifier: MIT */
/* Errors in words. A program that does not call these functions need not carry this file. */
#include "tcuq.h"

/* The digits of a range, macros replaced by their values. */
#define DIGITS(number) AS_TEXT(number)
#define AS_TEXT(number) #number

const char *tcuq_error_name(int error)
{
    switch (error) {
#define TCUQ_FIELD(name, type, low, high, bytes) case TCUQ_ERR_PARAM_##name: return #name;
#define TCUQ_HEAD_FIELD(name, type, low, high) case TCUQ_ERR_HEAD_##name: return "evidence " #name;
#define TCUQ_RULE(name, field, expected) case TCUQ_ERR_RULE_##name: return #field;
#include "tcuq_fields.h"
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
#define TCUQ_RULE(name, field, expected) case TCUQ_ERR_RULE_##name: return expected;
#include "tcuq_fields.h"
    case TCUQ_ERR_SIGNALS: return "only signals and evidence that this build has (TCUQ_SIGNALS, TCUQ_EVIDENCE)";
    case TCUQ_ERR_SIZE: return "a larger buffer, or a state of tcuq_state_size() bytes";
    case TCUQ_ERR_VERSION: return "the layout of this tcuq.h";
    case TCUQ_ERR_STATE: return "undamaged bytes of tcuq_save()";
    case TCUQ_ERR_OTHER: return "one saved with the same parameters";
    default: return "";
    }
}
