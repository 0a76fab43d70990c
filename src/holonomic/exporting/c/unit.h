/* What units of FMI 2.0 and 3.0 share: an instance, its variables by reference, and its modes. */
#include "model_data.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif

#if HOL_EXCHANGES
void hol_enter(MODEL *m, double t, const double *x);
const double *hol_slopes(MODEL *m);
#endif

enum { TIME, PARAMETER, INPUT, POSITION, VELOCITY, MULTIPLIER, OUTPUT, JOINT, DRIFT, COUNT, SLOPE };
static const struct { int kind, index, tunable; } variables[] = HOL_VARIABLES;

/* what is saved and restored: no pointers */
typedef struct {
    unsigned char memory[HOL_BYTES];
    double q0[HOL_NQ + 1], v0[HOL_NV + 1], t0;
    int runs, given, stale, ended; /* initialized; another start; to be begun again; at a terminal event */
} unit_state;

typedef struct {
    unit_state now;
    void (*say)(void *unit, int status, const char *text); /* to whom it belongs, in words */
    void *log, *environment;
    char name[64];
} unit;

enum { UNIT_OK, UNIT_WARNING, UNIT_DISCARD, UNIT_ERROR };

static MODEL *model_of(unit *u) { return (MODEL *)u->now.memory; }

static int refuse(unit *u, const char *form, ...) {
    char text[256];
    va_list given;
    va_start(given, form);
    vsnprintf(text, sizeof text, form, given);
    va_end(given);
    if (u->log) u->say(u, UNIT_ERROR, text);
    return UNIT_ERROR;
}

static void begin_anew(unit *u) {
    memset(&u->now, 0, sizeof u->now);
    NAMED(create_in)(u->now.memory);
    memcpy(u->now.q0, NAMED(q)(model_of(u)), 8 * HOL_NQ);
    memcpy(u->now.v0, NAMED(v)(model_of(u)), 8 * HOL_NV);
    u->now.t0 = HOL_T0;
}

static unit *new_unit(const char *name, const char *token) {
    unit *u = strcmp(token, HOL_TOKEN) ? NULL : calloc(1, sizeof *u);
    if (!u) return NULL;
    strncpy(u->name, name ? name : "", sizeof u->name - 1);
    begin_anew(u);
    return u;
}

/* before and in initialization mode: the start with what has been set so far, moved onto the constraints */
static int settle(unit *u) {
    if (u->now.runs || !u->now.stale) return UNIT_OK;
    const double *q0 = u->now.given ? u->now.q0 : NULL, *v0 = u->now.given ? u->now.v0 : NULL;
    int status = NAMED(reset)(model_of(u), u->now.t0, q0, v0);
    if (status) return refuse(u, "the start at t = %g: %s", u->now.t0, NAMED(text)(status));
    u->now.stale = 0;
    return UNIT_OK;
}

static int get_value(unit *u, unsigned reference, double *value) {
    if (reference >= HOL_N_VARIABLES) return refuse(u, "there is no variable with reference %u", reference);
    int i = variables[reference].index, kind = variables[reference].kind;
    MODEL *m = model_of(u);
    if (!u->now.runs && (kind == POSITION || kind == VELOCITY) && u->now.given && u->now.stale) {
        *value = kind == POSITION ? u->now.q0[i] : u->now.v0[i];
        return UNIT_OK;
    }
    if (kind > VELOCITY && settle(u)) return UNIT_ERROR;
    const double *from = NULL;
    switch (kind) {
    case TIME: *value = u->now.runs ? NAMED(time)(m) : u->now.t0; return UNIT_OK;
    case PARAMETER: case INPUT: *value = NAMED(get)(m, i); return UNIT_OK;
    case POSITION: from = NAMED(q)(m); break;
    case VELOCITY: from = NAMED(v)(m); break;
    case MULTIPLIER: from = NAMED(lambda)(m); break;
    case OUTPUT: from = NAMED(outputs)(m); break;
    case JOINT: from = NAMED(joint_forces)(m); break;
    case DRIFT: *value = i ? NAMED(velocity_drift)(m) : NAMED(position_drift)(m); return UNIT_OK;
#if HOL_EXCHANGES
    case SLOPE: from = hol_slopes(m); break;
#endif
    case COUNT: *value = (double)NAMED(event_count)(m, i); return UNIT_OK;
    }
    if (!from) return refuse(u, "accelerations and multipliers do not exist at t = %g", NAMED(time)(m));
    *value = from[i];
    return UNIT_OK;
}

static int set_value(unit *u, unsigned reference, double value) {
    if (reference >= HOL_N_VARIABLES) return refuse(u, "there is no variable with reference %u", reference);
    int i = variables[reference].index, kind = variables[reference].kind;
    if (kind == PARAMETER || kind == INPUT) {
        if (u->now.runs && kind == PARAMETER && !variables[reference].tunable)
            return refuse(u, "this parameter moves the constraints: it is set before the end of initialization");
        if (NAMED(get)(model_of(u), i) != value) u->now.stale = 1;
        int status = NAMED(set)(model_of(u), i, value);
        return status ? refuse(u, "%s", NAMED(text)(status)) : UNIT_OK;
    }
    if (u->now.runs || (kind != POSITION && kind != VELOCITY) || !(value - value == 0.0))
        return refuse(u, "only parameters, inputs and, before the end of initialization, positions and velocities can be set");
    double *place = (kind == POSITION ? u->now.q0 : u->now.v0) + i;
    if (*place != value) u->now.given = u->now.stale = 1;
    *place = value;
    return UNIT_OK;
}

static int start_at(unit *u, double t0) {
    if (t0 != u->now.t0) u->now.stale = 1;
    u->now.t0 = t0;
    return UNIT_OK;
}

static int start_running(unit *u) {
    if (settle(u)) return UNIT_ERROR;
    u->now.runs = 1;
    return UNIT_OK;
}

static int do_step(unit *u, double t, double h) {
    MODEL *m = model_of(u);
    if (!u->now.runs) return refuse(u, "a step before the end of initialization");
    if (!(fabs(t - NAMED(time)(m)) <= 1e-9 * (1.0 + fabs(t))))
        return refuse(u, "a step from t = %.17g, where the unit stands at %.17g", t, NAMED(time)(m));
    int status = NAMED(step_to)(m, t + h);
    u->now.ended = status == HOL_EVENT;
    if (status && !u->now.ended) return refuse(u, "t = %g: %s", NAMED(time)(m), NAMED(text)(status));
    return u->now.ended ? UNIT_DISCARD : UNIT_OK;
}

#if HOL_EXCHANGES
enum { N_STATES = HOL_NQ + HOL_NV };

static int states_here(unit *u, double x[], size_t n) {
    if (n != N_STATES) return refuse(u, "there are %d states", (int)N_STATES);
    memcpy(x, NAMED(q)(model_of(u)), 8 * HOL_NQ);
    memcpy(x + HOL_NQ, NAMED(v)(model_of(u)), 8 * HOL_NV);
    return UNIT_OK;
}

static int enter_states(unit *u, const double x[], size_t n) {
    if (!u->now.runs || n != N_STATES) return refuse(u, "there are %d states, which are set after initialization", (int)N_STATES);
    hol_enter(model_of(u), NAMED(time)(model_of(u)), x);
    return UNIT_OK;
}

static int enter_time(unit *u, double t) {
    if (!(t - t == 0.0)) return refuse(u, "the time is no number");
    hol_enter(model_of(u), t, NULL);
    return UNIT_OK;
}

static int slopes_here(unit *u, double slopes[], size_t n) {
    if (n != N_STATES) return refuse(u, "there are %d states", (int)N_STATES);
    const double *found = settle(u) ? NULL : hol_slopes(model_of(u));
    if (!found) return refuse(u, "the derivatives do not exist at t = %g", NAMED(time)(model_of(u)));
    memcpy(slopes, found, 8 * N_STATES);
    return UNIT_OK;
}
#endif

/* states: as many bytes as unit_state */
static int get_state(unit *u, void **state) {
    if (!*state && !(*state = malloc(sizeof u->now))) return refuse(u, "no memory for a state");
    memcpy(*state, &u->now, sizeof u->now);
    return UNIT_OK;
}
