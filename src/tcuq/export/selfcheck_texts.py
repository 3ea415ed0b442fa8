"""What the self-check of an exported monitor is written from: C with places to fill."""

from __future__ import annotations

HEADER = """\
#ifndef {NAME}_SELFCHECK_H
#define {NAME}_SELFCHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* {about} */
#define {NAME}_SELFCHECK_STEPS {steps}u
{codes}
/* Replay a stored stream with the parameters of {name} and compare what comes out with what the core
 * gave on the computer that exported them: every field and every signal of every step{saves}.
 * `ring` is at least {NAME}_RING_BYTES bytes and may be the memory that the monitor gets
 * afterwards: nothing of the check remains.
 * Return 0 when all is equal, or the step, from 1, by which something differs: the very step up to
 * step {singles}, the end of a repeated stretch after that. A negative number is an error of
 * tcuq_init() or tcuq_load(){others}. */
int {name}_selfcheck(uint32_t *ring, size_t ring_bytes);

#ifdef __cplusplus
}}
#endif

#endif
"""

CODE = "/* {about} */\n#define {NAME}_SELFCHECK_{what} ({number})\n"

SOURCE = """\
#include "{name}_selfcheck.h"

#include "{name}.h"
{save_option}
{tables}

/* Rows that are played `times` times over, and the digests of what comes out and of the state after. */
static const struct {{
    uint16_t first, rows, times, reset;
    uint32_t digest, saved;
}} {name}_check_laps[] = {{
{laps}
}};

/* Named here because a local name below may hide that of the parameters. */
static const tcuq_params_t *const tcuq_check_params = &{name};

/* One more word: no two words lead to the same digest. */
static uint32_t tcuq_check_mix(uint32_t digest, uint32_t word)
{{
    return (uint32_t)((digest ^ word) * (uint32_t){prime}u);
}}

/* Take one step and add everything that it gives to a digest. */
static uint32_t tcuq_check_step(tcuq_t *own, size_t row, uint32_t digest)
{{
    tcuq_step_t got;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    size_t i;
    tcuq_step(own, {name}_check_probs[row], {features_argument}, &got, signals);
{mixed}
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {{
        digest = tcuq_check_mix(digest, signals[i]);
    }}
    return digest;
}}
{limits}{saved}{before}
int {name}_selfcheck(uint32_t *ring, size_t ring_bytes)
{{
    tcuq_t own;
    size_t lap, i, j;
    int step = 0;
    int status = tcuq_init(&own, tcuq_check_params, ring, ring_bytes);
    if (status != TCUQ_OK) {{
        return status;
    }}
{calls}{fresh}    for (i = 0; i < {singles}u; i++) {{
{load}        step++;
        if (tcuq_check_step(&own, i, (uint32_t){basis}u) != {name}_check_steps[i]) {{
            return step;
        }}
    }}
    for (lap = 0; lap < sizeof {name}_check_laps / sizeof {name}_check_laps[0]; lap++) {{
        uint32_t digest = (uint32_t){basis}u;
        if ({name}_check_laps[lap].reset != 0u) {{
            tcuq_reset(&own);
        }}
        for (j = 0; j < {name}_check_laps[lap].times; j++) {{
            for (i = 0; i < {name}_check_laps[lap].rows; i++) {{
                step++;
                digest = tcuq_check_step(&own, {name}_check_laps[lap].first + i, digest);
            }}
        }}
        if (digest != {name}_check_laps[lap].digest) {{
            return step;
        }}
{check_saved}    }}
{verify}    return 0;
}}
"""

LIMITS = """
/* Sizes and bounds are those of the computer that exported, and too little memory is refused. */
static int tcuq_check_limits(uint32_t *ring)
{{
    tcuq_t own;
    int32_t low = 0;
    int32_t high = 0;
    tcuq_debt_bounds(tcuq_check_params, &low, &high);
    if (low != {low} || high != {high} || tcuq_ring_size(tcuq_check_params) != {NAME}_RING_BYTES ||
        tcuq_init(&own, tcuq_check_params, ring, {NAME}_RING_BYTES - 1u) != TCUQ_ERR_SIZE) {{
        return {NAME}_SELFCHECK_LIMITS;
    }}
    return 0;
}}
"""

SAVE_OPTION = """
/* 0 leaves out the check of saved states, and its buffer of {NAME}_STATE_BYTES bytes of RAM. */
#ifndef TCUQ_SELFCHECK_SAVE
#define TCUQ_SELFCHECK_SAVE 1
#endif
"""

SAVED = """
#if TCUQ_SELFCHECK_SAVE
static uint8_t tcuq_check_bytes[{NAME}_STATE_BYTES];

/* Return whether the state of a monitor is saved as bytes of this digest. */
static int tcuq_check_saved(const tcuq_t *own, uint32_t expected)
{{
    uint32_t digest = (uint32_t){basis}u;
    size_t i;
    if (tcuq_save(own, tcuq_check_bytes, sizeof tcuq_check_bytes - 1u) != TCUQ_ERR_SIZE ||
        tcuq_save(own, tcuq_check_bytes, sizeof tcuq_check_bytes) != (int)sizeof tcuq_check_bytes) {{
        return 0;
    }}
    for (i = 0; i < sizeof tcuq_check_bytes; i++) {{
        digest = tcuq_check_mix(digest, tcuq_check_bytes[i]);
    }}
    return digest == expected;
}}

/* Numbers of a state that are set to another value, and whether it is still loaded: `size` bytes, lowest
 * first. Those of a new monitor come first, then those of the stored state. */
static const struct {{
    uint16_t at;
    uint8_t size, loads;
    uint32_t value;
}} {name}_check_forged[] = {{
{forged}
}};

/* Return whether some of these states are loaded or refused as they should be. `state` is the one to
 * change, or NULL for that of the monitor. */
static int tcuq_check_forged(tcuq_t *own, const uint8_t *state, size_t next, size_t end)
{{
    for (; next < end; next++) {{
        uint32_t crc = 0xFFFFFFFFu;
        size_t i, j;
        int status;
        if (state == NULL) {{
            (void)tcuq_save(own, tcuq_check_bytes, sizeof tcuq_check_bytes);
        }}
        for (i = 0; state != NULL && i < sizeof tcuq_check_bytes; i++) {{
            tcuq_check_bytes[i] = state[i];
        }}
        for (i = 0; i < {name}_check_forged[next].size; i++) {{
            tcuq_check_bytes[{name}_check_forged[next].at + i] =
                (uint8_t)({name}_check_forged[next].value >> 8u * i);
        }}
        for (i = 0; i < sizeof tcuq_check_bytes - 4u; i++) {{
            crc = tcuq_crc_byte(crc, tcuq_check_bytes[i]);
        }}
        for (j = 0; j < 4u; j++) {{
            tcuq_check_bytes[i + j] = (uint8_t)(~crc >> 8u * j);
        }}
        status = tcuq_load(own, tcuq_check_bytes, sizeof tcuq_check_bytes);
        if ((status == TCUQ_OK) != ({name}_check_forged[next].loads != 0u)) {{
            return 0;
        }}
    }}
    return 1;
}}
#endif
"""

FRESH = """\
#if TCUQ_SELFCHECK_SAVE
    if (!tcuq_check_forged(&own, NULL, 0, {fresh_count}u)) {{
        return {NAME}_SELFCHECK_LOADED;
    }}
#endif
"""

VERIFY = """\
#if TCUQ_SELFCHECK_SAVE
    if (tcuq_verify(&own) != TCUQ_OK) {{
        return {NAME}_SELFCHECK_LIMITS;
    }}
#endif
"""

CHECK_SAVED = """\
#if TCUQ_SELFCHECK_SAVE
        if (!tcuq_check_saved(&own, {name}_check_laps[lap].saved)) {{
            return {NAME}_SELFCHECK_SAVED;
        }}
#endif
"""

LOAD = """\
        if (i == {late}u) {{
#if TCUQ_SELFCHECK_SAVE
            if (!tcuq_check_forged(&own, {name}_check_state, {fresh_count}u,
                                   sizeof {name}_check_forged / sizeof {name}_check_forged[0])) {{
                return {NAME}_SELFCHECK_LOADED;
            }}
#endif
            status = tcuq_load(&own, {name}_check_state, sizeof {name}_check_state);
            if (status != TCUQ_OK) {{
                return status;
            }}
        }}
"""

SOFTMAX = """
static int tcuq_check_softmax(void)
{{
    int8_t got[{NAME}_CLASSES];
    size_t row, i;
    for (row = 0; row < {rows}u; row++) {{
        tcuq_softmax({name}_softmax, {name}_check_logits[row], sizeof got, got);
        for (i = 0; i < sizeof got; i++) {{
            if (got[i] != {name}_check_shares[row][i]) {{
                return {NAME}_SELFCHECK_SOFTMAX;
            }}
        }}
    }}
    return 0;
}}
"""

PROJECTION = """
static int tcuq_check_projection(void)
{{
    int8_t got[{NAME}_FEATURES];
    size_t row, i;
    for (row = 0; row < {rows}u; row++) {{
        tcuq_project(&{name}_projection, {name}_check_wide[row], got);
        for (i = 0; i < sizeof got; i++) {{
            if (got[i] != {name}_check_narrow[row][i]) {{
                return {NAME}_SELFCHECK_PROJECTION;
            }}
        }}
    }}
    return 0;
}}
"""

CALL = """\
    status = tcuq_check_{what}();
    if (status != 0) {{
        return status;
    }}
"""
