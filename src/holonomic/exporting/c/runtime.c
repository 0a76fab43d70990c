/* A simulation in memory of its own. The step loop is that of Python: see model_data.h for where its numbers stand. */
#include "model_data.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct MODEL {
    unsigned char arena[HOL_BYTES];
};

extern const unsigned char hol_image[HOL_BYTES]; /* as it is right after the beginning of the run that was exported */
extern int64_t hol_begin(void *), hol_field(void *);
#if HOL_WALKS
extern int64_t hol_walk(void *);
#else
extern int64_t hol_go_on(void *);
#endif
#if HOL_READIES
extern int64_t hol_ready(void *);
#endif
#if HOL_N_OUTPUTS
extern int64_t hol_outputs(void *);
#endif
#if HOL_N_RESIDUALS
extern int64_t hol_residuals(void *);
#endif

static hol_run *run_of(const MODEL *m) { return (hol_run *)(m->arena + HOL_AT_RUN); }
static double *numbers(const MODEL *m, size_t at) { return (double *)(m->arena + at); }

size_t NAMED(size)(void) { return sizeof(MODEL); }

MODEL *NAMED(create_in)(void *memory) {
    if (memory) memcpy(memory, hol_image, sizeof(MODEL));
    return memory;
}

MODEL *NAMED(create)(void) { return NAMED(create_in)(malloc(sizeof(MODEL))); }

void NAMED(free)(MODEL *m) { free(m); }

void NAMED(save)(const MODEL *m, void *to) { memcpy(to, m, sizeof(MODEL)); }

void NAMED(restore)(MODEL *m, const void *from) { memcpy(m, from, sizeof(MODEL)); }

/* the field at the last point is to be evaluated again */
static void field_changed(MODEL *m) {
    hol_run *run = run_of(m);
    run->guided = run->alarm = 0;
    if (run->phase == HOL_PASSING) run->phase = HOL_STEPPING;
    run->evaluated = 0;
#if HOL_REMEMBERS
    memset(numbers(m, HOL_AT_K) + HOL_WIDTH, 0, 8 * (size_t)HOL_WIDTH * (HOL_ROWS - 3));
#endif
}

static const int input_places[] = HOL_INPUT_PLACES; /* of those that can be set, three numbers each */

static int as_exported(const MODEL *m) {
    const double *data = numbers(m, HOL_AT_DATA), *first = (const double *)(hol_image + HOL_AT_DATA);
    for (int k = 0; k < HOL_N_PARAMS; k++)
        if (data[k] != first[k]) return 0;
    for (int k = 0; k < HOL_N_INPUTS; k++)
        for (int i = input_places[k]; i < input_places[k] + 2; i++)
            if (data[i] != first[i]) return 0;
    return 1;
}

int NAMED(reset)(MODEL *m, double t0, const double *q0, const double *v0) {
    if (!(t0 - t0 == 0.0)) return HOL_BACKWARDS;
    if (!q0 && !v0 && t0 == HOL_T0 && as_exported(m)) {
        memcpy(m, hol_image, sizeof *m);
        return HOL_OK;
    }
    double *data = numbers(m, HOL_AT_DATA), *x = numbers(m, HOL_AT_X), kept[HOL_N_DATA];
    memcpy(kept, data, sizeof kept);
    memcpy(m, hol_image, sizeof *m);
    memcpy(data, kept, 8 * HOL_N_PARAMS);
    for (int k = 0; k < HOL_N_INPUTS; k++) {
        data[input_places[k]] = kept[input_places[k]];
        data[input_places[k] + 1] = kept[input_places[k] + 1];
        data[input_places[k] + 2] = t0;
    }
    if (q0) memcpy(x, q0, 8 * HOL_NQ);
    if (v0) memcpy(x + HOL_NQ, v0, 8 * HOL_NV);
    hol_run *run = run_of(m);
    run->t = run->t_base = t0;
    run->t_stop = t0 + HOL_SPAN;
    run->sized = 0;
    run->rho_least = 1.0;
    run->uneven = 0;
    run->first_given = HOL_FIRST_GIVEN;
    run->evaluated = 0;
    memset(numbers(m, HOL_AT_K), 0, 8 * (size_t)HOL_WIDTH * HOL_ROWS);
    for (int k = 0; k < HOL_N_EVENTS; k++) numbers(m, HOL_AT_WAITS)[k * HOL_WAITS] = t0;
#if HOL_READIES
    int64_t status = hol_ready(m);
    if (status) return status == 1 ? HOL_OFF_POSITION : status == 2 ? HOL_OFF_VELOCITY : HOL_UNCLEAR;
#elif HOL_NEEDS_PYTHON
    return HOL_UNCLEAR;
#endif
    return (int)hol_begin(m);
}

int NAMED(step_to)(MODEL *m, double t) {
    hol_run *run = run_of(m);
    if (!(t >= run->t) || !(t - t == 0.0)) return HOL_BACKWARDS;
    run->quota = HOL_MOST_STEPS;
#if HOL_WALKS
    *numbers(m, HOL_AT_GOAL) = t;
    int64_t status = hol_walk(m);
#else
    run->t_stop = t;
    if (run->fixed) {
        run->t_base = run->t;
        run->step_number = 0;
    }
    int64_t status = hol_go_on(m);
#endif
    return status == HOL_DONE ? HOL_OK : status == HOL_MORE ? HOL_TOO_MANY_STEPS : (int)status;
}

int NAMED(events)(const MODEL *m, double *t, int *which, int room) {
    int n = (int)((const int64_t *)(m->arena + HOL_AT_COUNTS))[0];
    for (int k = 0; k < n && k < room; k++) {
        t[k] = numbers(m, HOL_AT_LOG_T)[k];
        which[k] = (int)((const int64_t *)(m->arena + HOL_AT_LOG))[k];
    }
    return n;
}

int64_t NAMED(event_count)(const MODEL *m, int which) {
    return which < 0 || which >= HOL_N_EVENTS ? -1 : ((const int64_t *)(m->arena + HOL_AT_COUNTS))[1 + which];
}

static int evaluated(MODEL *m) {
    hol_run *run = run_of(m);
    if (!run->evaluated) {
        int status = (int)hol_field(m);
        if (status) return status;
        run->evaluated = 1;
    }
    return HOL_OK;
}

#if HOL_EXCHANGES
/* where an integrator of others stands, and the slopes there */
void hol_enter(MODEL *m, double t, const double *x) {
    run_of(m)->t = t;
    if (x) memcpy(numbers(m, HOL_AT_X), x, 8 * (HOL_NQ + HOL_NV));
    field_changed(m);
}

const double *hol_slopes(MODEL *m) { return evaluated(m) ? NULL : numbers(m, HOL_AT_K); }
#endif

double NAMED(time)(const MODEL *m) { return run_of(m)->t; }

const double *NAMED(q)(const MODEL *m) { return numbers(m, HOL_AT_X); }

const double *NAMED(v)(const MODEL *m) { return numbers(m, HOL_AT_X) + HOL_NQ; }

const double *NAMED(accelerations)(MODEL *m) { return evaluated(m) ? NULL : numbers(m, HOL_AT_K) + HOL_NQ; }

#if HOL_SMALLEST
extern int64_t hol_terms(void *), hol_smallest(void *);
#endif
#if HOL_MULTIPLIERS
extern int64_t hol_multipliers(void *);
#endif

/* those of the field, or what results show in their place: the shortest where rows are redundant, y of a Dae */
const double *NAMED(lambda)(MODEL *m) {
    if (evaluated(m)) return NULL;
#if HOL_SMALLEST
    if (hol_terms(m) || hol_smallest(m)) return NULL;
#endif
#if HOL_MULTIPLIERS
    hol_multipliers(m);
#endif
    return numbers(m, HOL_AT_LAMBDA);
}

const double *NAMED(outputs)(MODEL *m) {
    if (!NAMED(lambda)(m)) return NULL;
#if HOL_N_OUTPUTS
    hol_outputs(m);
#endif
    return numbers(m, HOL_AT_OUTPUTS);
}

#if HOL_N_JOINTS
extern int64_t hol_terms(void *);
HOL_JOINTS;
#endif

/* sums of rows of G by multipliers, and multipliers of couplings, turned into force and torque at the joint by its frame, which is
   among the outputs */
const double *NAMED(joint_forces)(MODEL *m) {
    if (!NAMED(outputs)(m)) return NULL;
    double *out = numbers(m, HOL_AT_JOINTS);
#if HOL_N_JOINTS
    hol_terms(m);
    const double *G = numbers(m, HOL_AT_TERMS) + HOL_AT_G, *lam = numbers(m, HOL_AT_LAMBDA);
    const double *frame = numbers(m, HOL_AT_OUTPUTS) + HOL_AT_FRAMES;
    for (int j = 0; j < HOL_N_JOINTS; j++, out += HOL_N_COMPONENTS) {
        memset(out, 0, 8 * HOL_N_COMPONENTS);
        for (int i = 0; i < HOL_N_COLUMNS; i++, frame += HOL_N_COMPONENTS) {
            double sum = 0.0;
            for (int r = 0; r < joints[j].n; r++)
                sum += G[joints[j].rows[r][0] * HOL_NV + joints[j].column + i] * lam[joints[j].rows[r][1]];
            for (int c = 0; c < HOL_N_COMPONENTS; c++) out[c] += joints[j].sign * sum * frame[c];
        }
        for (int r = 0; r < joints[j].n_coupled; r++, frame += HOL_N_COMPONENTS)
            for (int c = 0; c < HOL_N_COMPONENTS && joints[j].coupled[r] >= 0; c++) out[c] += lam[joints[j].coupled[r]] * frame[c];
    }
#endif
    return numbers(m, HOL_AT_JOINTS);
}

const double *NAMED(residuals)(MODEL *m) {
#if HOL_N_RESIDUALS
    hol_residuals(m);
#endif
    return numbers(m, HOL_AT_RESIDUALS);
}

static double largest(const double *values, int n) {
    double found = 0.0;
    for (int k = 0; k < n; k++)
        if (!(fabs(values[k]) <= found)) found = fabs(values[k]);
    return found;
}

double NAMED(position_drift)(MODEL *m) { return largest(NAMED(residuals)(m), HOL_N_POSITION); }

double NAMED(velocity_drift)(MODEL *m) { return largest(NAMED(residuals)(m) + HOL_N_LEVEL, HOL_N_RESIDUALS - HOL_N_LEVEL); }

int64_t NAMED(steps)(const MODEL *m) { return run_of(m)->accepted; }

static double *value(MODEL *m, int which) {
    if (which < 0 || which >= HOL_N_PARAMS + HOL_N_INPUTS) return NULL;
    int place = which < HOL_N_PARAMS ? which : input_places[which - HOL_N_PARAMS];
    return numbers(m, HOL_AT_DATA) + place;
}

double NAMED(get)(const MODEL *m, int which) {
    const double *place = value((MODEL *)m, which);
    if (!place) return NAN;
    if (which < HOL_N_PARAMS) return *place;
    return place[0] + place[1] * (run_of(m)->t - place[2]);
}

int NAMED(set)(MODEL *m, int which, double number) {
    double *place = value(m, which);
    if (!place || !(number - number == 0.0)) return HOL_BAD_VALUE;
    if (which >= HOL_N_PARAMS) return NAMED(set_input)(m, which, number, 0.0);
    if (*place != number) {
        *place = number;
        field_changed(m);
    }
    return HOL_OK;
}

int NAMED(set_input)(MODEL *m, int which, double number, double slope) {
    double *place = value(m, which);
    if (!place || which < HOL_N_PARAMS || !(number - number == 0.0) || !(slope - slope == 0.0)) return HOL_BAD_VALUE;
    if (place[0] != number || place[1] != slope || (slope != 0.0 && place[2] != run_of(m)->t)) {
        place[0] = number;
        place[1] = slope;
        place[2] = run_of(m)->t;
        field_changed(m);
    }
    return HOL_OK;
}

const char *NAMED(text)(int status) {
    switch (status) {
    case HOL_OK: return "fine";
    case HOL_EVENT: return "a terminal event has happened";
    case HOL_ACCUMULATES: return "impacts accumulate: the contact lasts, and nothing moves away from it";
    case HOL_MAP_FAILED: return "the map of an event leaves the constraints, or no velocity is consistent there";
    case HOL_NOT_FINITE: return "a function of the model is not finite here";
    case HOL_SINGULAR: return "a singular position: constraints become dependent here";
    case HOL_PULL_FAILED: return "the state cannot be brought back to the constraints";
    case HOL_STEP_COLLAPSED: return "the step fell below rounding: a singular position, or a function that jumps";
    case HOL_TOO_MANY_STEPS: return "too many steps in one call";
    case HOL_NO_CONVERGENCE: return "the iteration of an implicit step does not converge";
    case HOL_OFF_POSITION: return "the positions cannot be moved onto the constraints";
    case HOL_OFF_VELOCITY: return "the velocities cannot be moved onto the constraints";
    case HOL_UNCLEAR: return "this start cannot be made consistent here: its constraints are dependent or not finite";
    case HOL_BACKWARDS: return "time goes forward: the time asked for lies before the present one, or is no number";
    case HOL_BAD_VALUE: return "no such parameter or input, or no finite number";
    default: return "the step failed";
    }
}
