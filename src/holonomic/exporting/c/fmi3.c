/* Co-simulation by FMI 3.0 (https://fmi-standard.org): its types and functions around a unit. */
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

SHOWN fmi3Instance fmi3InstantiateCoSimulation(
    const char *name, const char *token, const char *resources, bool visible, bool logging, bool event_mode, bool early,
    const fmi3ValueReference intermediate[], size_t n, void *environment, fmi3LogMessageCallback log, void *update) {
    (void)resources, (void)visible, (void)logging, (void)early, (void)intermediate, (void)update;
    unit *u = event_mode || n ? NULL : new_unit(name, token);
    if (u) {
        u->say = say;
        u->log = (void *)log;
        u->environment = environment;
    } else if (log) {
        log(environment, UNIT_ERROR, "error", event_mode || n ? "there is no event mode and no intermediate update"
                                                              : "the token is not that of this unit, or there is no memory");
    }
    return u;
}
SHOWN fmi3Instance fmi3InstantiateModelExchange(
    const char *name, const char *token, const char *resources, bool visible, bool logging, void *environment,
    fmi3LogMessageCallback log) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    if (log) log(environment, UNIT_ERROR, "error", "co-simulation alone");
    return NULL;
}
SHOWN fmi3Instance fmi3InstantiateScheduledExecution(
    const char *name, const char *token, const char *resources, bool visible, bool logging, void *environment,
    fmi3LogMessageCallback log, void *clock, void *lock, void *unlock) {
    (void)clock, (void)lock, (void)unlock;
    return fmi3InstantiateModelExchange(name, token, resources, visible, logging, environment, log);
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
    int status = do_step(c, t, h);
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

/* What is not offered. These take more arguments and look at the first alone. */
#define NONE(function) \
    SHOWN fmi3Status fmi3##function(fmi3Instance c) { return refuse(c, "fmi3" #function " is not offered"); }
#define BOTH(type) NONE(Get##type) NONE(Set##type)
BOTH(Float32) BOTH(Int8) BOTH(UInt8) BOTH(Int16) BOTH(UInt16) NONE(SetInt32) BOTH(UInt32) BOTH(Int64) BOTH(UInt64)
BOTH(Boolean) BOTH(String) BOTH(Binary) BOTH(Clock) BOTH(IntervalDecimal) BOTH(IntervalFraction) BOTH(ShiftDecimal)
BOTH(ShiftFraction) NONE(EnterEventMode) NONE(EnterConfigurationMode) NONE(ExitConfigurationMode)
NONE(GetNumberOfVariableDependencies) NONE(GetVariableDependencies) NONE(GetDirectionalDerivative)
NONE(GetAdjointDerivative) NONE(EvaluateDiscreteStates) NONE(UpdateDiscreteStates) NONE(EnterContinuousTimeMode)
NONE(CompletedIntegratorStep) NONE(SetTime) NONE(SetContinuousStates) NONE(GetContinuousStateDerivatives)
NONE(GetEventIndicators) NONE(GetContinuousStates) NONE(GetNominalsOfContinuousStates) NONE(GetNumberOfEventIndicators)
NONE(GetNumberOfContinuousStates) NONE(GetOutputDerivatives) NONE(ActivateModelPartition)
