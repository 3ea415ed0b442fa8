/* SPDX-License-Identifier: MIT */
#ifndef REPORT_H
#define REPORT_H

#include "rule.h"

/* Write a line: the bytes of the stack in use, the posterior in hexadecimal, a digest of the features ("-" without),
 * then every field of the decision. */
void report(const int8_t *probs, const int8_t *features, const decision_t *decision, uint32_t depth);

#endif
