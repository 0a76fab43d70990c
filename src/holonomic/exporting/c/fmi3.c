/* Co-simulation or model exchange by FMI 3.0 (https://fmi-standard.org): its types and functions around a unit. */
#include "unit.h"

#include <stdbool.h>

typedef void *fmi3Instance;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef int fmi3Status;
typedef void (*fmi3LogMessageCallback)(void *environment, fmi3Status status, const char *category, const char *text);

static void say(void *of, int status, const char *text) {
    unit *u = of;
    ((fmi3LogMessageCallback)u->log)(u->environment, status, "error", text);
}

SHOWN const char *fmi3GetVersion(void) { return "3.0"; }
SHOWN fmi3Status fmi3SetDebugLogging(fmi3Instance c, bool on, size_t n, const char *const categories[]) {
    (void)c, (void)on, (void)n, (void)categories;
    return UNIT_OK;
}

#if HOL_EXCHANGES
#define ALONE "model exchange alone"
#else
#define ALONE "co-simulation alone"
#endif

static fmi3Instance made(const char *name, const char *token, const char *why_not, void *environment, fmi3LogMessageCallback log) {
    unit *u = why_not ? NULL : new_unit(name, token);
    if (u) {
        u->say = say;
        u->log = (void *)log;
        u->environment = environment;
    } else if (log) {
        log(environment, UNIT_ERROR, "error", why_not ? why_not : "the token is not that of this unit, or there is no memory");
    }
    return u;
}
SHOWN fmi3Instance fmi3InstantiateCoSimulation(
    const char *name, const char *token, const char *resources, bool visible, bool logging, bool event_mode, bool early,
    const fmi3ValueReference intermediate[], size_t n, void *environment, fmi3LogMessageCallback log, void *update) {
    (void)resources, (void)visible, (void)logging, (void)early, (void)intermediate, (void)update;
    const char *why_not = event_mode || n ? "there is no event mode and no intermediate update" : NULL;
    return made(name, token, HOL_EXCHANGES ? ALONE : why_not, environment, log);
}
SHOWN fmi3Instance fmi3InstantiateModelExchange(
    const char *name, const char *token, const char *resources, bool visible, bool logging, void *environment,
    fmi3LogMessageCallback log) {
    (void)resources, (void)visible, (void)logging;
    return made(name, token, HOL_EXCHANGES ? NULL : ALONE, environment, log);
}
SHOWN fmi3Instance fmi3InstantiateScheduledExecution(
    const char *name, const char *token, const char *resources, bool visible, bool logging, void *environment,
    fmi3LogMessageCallback log, void *clock, void *lock, void *unlock) {
    (void)resources, (void)visible, (void)logging, (void)clock, (void)lock, (void)unlock;
    return made(name, token, ALONE, environment, log);
}
SHOWN void fmi3FreeInstance(fmi3Instance c) { free(c); }
SHOWN fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool has, double tolerance, double t0, bool stops, double t1) {
    (void)has, (void)tolerance, (void)stops, (void)t1;
    start_at(c, t0);
    return settle(c);
}
SHOWN fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return start_running(c); }
SHOWN fmi3Status fmi3Terminate(fmi3Instance c) { (void)c; return UNIT_OK; }
SHOWN fmi3Status fmi3Reset(fmi3Instance c) { begin_anew(c); return UNIT_OK; }

SHOWN fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, double values[], size_t count) {
    if (n != count) return refuse(c, "all variables are single numbers");
    for (size_t k = 0; k < n; k++)
        if (get_value(c, vr[k], &values[k])) return UNIT_ERROR;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const double values[], size_t count) {
    if (n != count) return refuse(c, "all variables are single numbers");
    for (size_t k = 0; k < n; k++)
        if (set_value(c, vr[k], values[k])) return UNIT_ERROR;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference vr[], size_t n, int32_t values[], size_t count) {
    if (n != count) return refuse(c, "all variables are single numbers");
    for (size_t k = 0; k < n; k++) {
        double value;
        if (get_value(c, vr[k], &value)) return UNIT_ERROR;
        values[k] = (int32_t)value;
    }
    return UNIT_OK;
}

SHOWN fmi3Status fmi3EnterStepMode(fmi3Instance c) { return refuse(c, "there is no event mode"); }
SHOWN fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool keeps, bool *event, bool *terminate, bool *early, double *last) {
    (void)keeps;
    int status = HOL_EXCHANGES ? refuse(c, ALONE) : do_step(c, t, h);
    *event = false;
    *terminate = status == UNIT_DISCARD;
    *early = false;
    *last = NAMED(time)(model_of(c));
    return status == UNIT_DISCARD ? UNIT_OK : status;
}

SHOWN fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state) { return get_state(c, state); }
SHOWN fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state) {
    memcpy(&((unit *)c)->now, state, sizeof(unit_state));
    return UNIT_OK;
}
SHOWN fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state) {
    (void)c;
    free(*state);
    *state = NULL;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size) {
    (void)c, (void)state;
    *size = sizeof(unit_state);
    return UNIT_OK;
}
SHOWN fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, uint8_t bytes[], size_t size) {
    if (size < sizeof(unit_state)) return refuse(c, "a state has %zu bytes", sizeof(unit_state));
    memcpy(bytes, state, sizeof(unit_state));
    return UNIT_OK;
}
SHOWN fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const uint8_t bytes[], size_t size, fmi3FMUState *state) {
    if (size != sizeof(unit_state)) return refuse(c, "a state has %zu bytes", sizeof(unit_state));
    if (get_state(c, state)) return UNIT_ERROR;
    memcpy(*state, bytes, sizeof(unit_state));
    return UNIT_OK;
}

#if HOL_EXCHANGES
SHOWN fmi3Status fmi3EnterEventMode(fmi3Instance c) { (void)c; return UNIT_OK; }
SHOWN fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, bool *again, bool *ends, bool *nominals_changed, bool *values_changed,
                                          bool *has_next, double *next) {
    (void)c;
    *again = *ends = *nominals_changed = *values_changed = *has_next = false;
    *next = 0.0;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c) { (void)c; return UNIT_OK; }
SHOWN fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, bool keeps, bool *event, bool *ends) {
    (void)c, (void)keeps;
    *event = *ends = false;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3SetTime(fmi3Instance c, double t) { return enter_time(c, t); }
SHOWN fmi3Status fmi3SetContinuousStates(fmi3Instance c, const double x[], size_t n) { return enter_states(c, x, n); }
SHOWN fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, double slopes[], size_t n) { return slopes_here(c, slopes, n); }
SHOWN fmi3Status fmi3GetEventIndicators(fmi3Instance c, double values[], size_t n) {
    (void)values;
    return n ? refuse(c, "there are no event indicators") : UNIT_OK;
}
SHOWN fmi3Status fmi3GetContinuousStates(fmi3Instance c, double x[], size_t n) { return states_here(c, x, n); }
SHOWN fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, double nominals[], size_t n) {
    (void)c;
    for (size_t k = 0; k < n; k++) nominals[k] = 1.0;
    return UNIT_OK;
}
SHOWN fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n) { (void)c; *n = 0; return UNIT_OK; }
SHOWN fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n) { (void)c; *n = N_STATES; return UNIT_OK; }
#endif

/* What is not offered. These take more arguments and look at the first alone. */
#define NONE(function) \
    SHOWN fmi3Status fmi3##function(fmi3Instance c) { return refuse(c, "fmi3" #function " is not offered"); }
#define BOTH(type) NONE(Get##type) NONE(Set##type)
BOTH(Float32) BOTH(Int8) BOTH(UInt8) BOTH(Int16) BOTH(UInt16) NONE(SetInt32) BOTH(UInt32) BOTH(Int64) BOTH(UInt64)
BOTH(Boolean) BOTH(String) BOTH(Binary) BOTH(Clock) BOTH(IntervalDecimal) BOTH(IntervalFraction) BOTH(ShiftDecimal)
BOTH(ShiftFraction) NONE(EnterConfigurationMode) NONE(ExitConfigurationMode)
NONE(GetNumberOfVariableDependencies) NONE(GetVariableDependencies) NONE(GetDirectionalDerivative)
NONE(GetAdjointDerivative) NONE(EvaluateDiscreteStates) NONE(GetOutputDerivatives) NONE(ActivateModelPartition)
#if !HOL_EXCHANGES
NONE(EnterEventMode) NONE(UpdateDiscreteStates) NONE(EnterContinuousTimeMode) NONE(CompletedIntegratorStep) NONE(SetTime)
NONE(SetContinuousStates) NONE(GetContinuousStateDerivatives) NONE(GetEventIndicators) NONE(GetContinuousStates)
NONE(GetNominalsOfContinuousStates) NONE(GetNumberOfEventIndicators) NONE(GetNumberOfContinuousStates)
#endif
