/* Co-simulation or model exchange by FMI 2.0 (https://fmi-standard.org): its types and functions around a unit. */
#include "unit.h"

typedef void *fmi2Component;
typedef void *fmi2FMUstate;
typedef unsigned fmi2ValueReference;
typedef int fmi2Status;
typedef int fmi2Boolean;
typedef struct {
    void (*logger)(void *environment, const char *name, fmi2Status status, const char *category, const char *form, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(void *, fmi2Status);
    void *environment;
} fmi2CallbackFunctions;
enum { fmi2ModelExchange, fmi2CoSimulation };
#if HOL_EXCHANGES
enum { OFFERED = fmi2ModelExchange };
#define ALONE "model exchange alone"
#else
enum { OFFERED = fmi2CoSimulation };
#define ALONE "co-simulation alone"
#endif
enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated };

static void say(void *of, int status, const char *text) {
    unit *u = of;
    ((void (*)(void *, const char *, int, const char *, const char *, ...))u->log)(u->environment, u->name, status, "error", "%s", text);
}

SHOWN const char *fmi2GetTypesPlatform(void) { return "default"; }
SHOWN const char *fmi2GetVersion(void) { return "2.0"; }
SHOWN fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const char *const categories[]) {
    (void)c, (void)on, (void)n, (void)categories;
    return UNIT_OK;
}

SHOWN fmi2Component fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources,
                                    const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)resources, (void)visible, (void)logging;
    unit *u = kind == OFFERED ? new_unit(name, guid) : NULL;
    if (u) {
        u->say = say;
        u->log = callbacks ? (void *)callbacks->logger : NULL;
        u->environment = callbacks ? callbacks->environment : NULL;
    } else if (callbacks && callbacks->logger) {
        callbacks->logger(callbacks->environment, name, UNIT_ERROR, "error", "%s",
                          kind == OFFERED ? "the guid is not that of this unit, or there is no memory" : ALONE);
    }
    return u;
}
SHOWN void fmi2FreeInstance(fmi2Component c) { free(c); }
SHOWN fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has, double tolerance, double t0, fmi2Boolean stops, double t1) {
    (void)has, (void)tolerance, (void)stops, (void)t1;
    return start_at(c, t0);
}
SHOWN fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return settle(c); }
SHOWN fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return start_running(c); }
SHOWN fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return UNIT_OK; }
SHOWN fmi2Status fmi2Reset(fmi2Component c) { begin_anew(c); return UNIT_OK; }

SHOWN fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, double values[]) {
    for (size_t k = 0; k < n; k++)
        if (get_value(c, vr[k], &values[k])) return UNIT_ERROR;
    return UNIT_OK;
}
SHOWN fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const double values[]) {
    for (size_t k = 0; k < n; k++)
        if (set_value(c, vr[k], values[k])) return UNIT_ERROR;
    return UNIT_OK;
}
SHOWN fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, int values[]) {
    for (size_t k = 0; k < n; k++) {
        double value;
        if (get_value(c, vr[k], &value)) return UNIT_ERROR;
        values[k] = (int)value;
    }
    return UNIT_OK;
}
SHOWN fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const int order[], const double values[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= HOL_N_VARIABLES || variables[vr[k]].kind != INPUT || order[k] != 1) return refuse(c, "inputs have first derivatives alone");
        int which = variables[vr[k]].index;
        MODEL *m = model_of(c);
        if (NAMED(set_input)(m, which, NAMED(get)(m, which), values[k])) return refuse(c, "the derivative of an input is not finite");
    }
    return UNIT_OK;
}

#if HOL_EXCHANGES
typedef struct {
    fmi2Boolean again, ends, nominals_changed, values_changed, has_next;
    double next;
} fmi2EventInfo;

SHOWN fmi2Status fmi2EnterEventMode(fmi2Component c) { (void)c; return UNIT_OK; }
SHOWN fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    (void)c;
    memset(info, 0, sizeof *info);
    return UNIT_OK;
}
SHOWN fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { (void)c; return UNIT_OK; }
SHOWN fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean keeps, fmi2Boolean *event, fmi2Boolean *ends) {
    (void)c, (void)keeps;
    *event = *ends = 0;
    return UNIT_OK;
}
SHOWN fmi2Status fmi2SetTime(fmi2Component c, double t) { return enter_time(c, t); }
SHOWN fmi2Status fmi2SetContinuousStates(fmi2Component c, const double x[], size_t n) { return enter_states(c, x, n); }
SHOWN fmi2Status fmi2GetDerivatives(fmi2Component c, double slopes[], size_t n) { return slopes_here(c, slopes, n); }
SHOWN fmi2Status fmi2GetEventIndicators(fmi2Component c, double values[], size_t n) {
    (void)values;
    return n ? refuse(c, "there are no event indicators") : UNIT_OK;
}
SHOWN fmi2Status fmi2GetContinuousStates(fmi2Component c, double x[], size_t n) { return states_here(c, x, n); }
SHOWN fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, double nominals[], size_t n) {
    (void)c;
    for (size_t k = 0; k < n; k++) nominals[k] = 1.0;
    return UNIT_OK;
}
#endif

SHOWN fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean keeps) {
    (void)keeps;
    return OFFERED == fmi2CoSimulation ? do_step(c, t, h) : refuse(c, ALONE);
}
SHOWN fmi2Status fmi2CancelStep(fmi2Component c) { return refuse(c, "steps are not cancelled"); }
SHOWN fmi2Status fmi2GetRealStatus(fmi2Component c, int kind, double *value) {
    if (kind != fmi2LastSuccessfulTime) return UNIT_DISCARD;
    *value = NAMED(time)(model_of(c));
    return UNIT_OK;
}
SHOWN fmi2Status fmi2GetBooleanStatus(fmi2Component c, int kind, fmi2Boolean *value) {
    if (kind != fmi2Terminated) return UNIT_DISCARD;
    *value = ((unit *)c)->now.ended;
    return UNIT_OK;
}

SHOWN fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) { return get_state(c, state); }
SHOWN fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    memcpy(&((unit *)c)->now, state, sizeof(unit_state));
    return UNIT_OK;
}
SHOWN fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    (void)c;
    free(*state);
    *state = NULL;
    return UNIT_OK;
}
SHOWN fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    (void)c, (void)state;
    *size = sizeof(unit_state);
    return UNIT_OK;
}
SHOWN fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, char bytes[], size_t size) {
    if (size < sizeof(unit_state)) return refuse(c, "a state has %zu bytes", sizeof(unit_state));
    memcpy(bytes, state, sizeof(unit_state));
    return UNIT_OK;
}
SHOWN fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const char bytes[], size_t size, fmi2FMUstate *state) {
    if (size != sizeof(unit_state)) return refuse(c, "a state has %zu bytes", sizeof(unit_state));
    if (get_state(c, state)) return UNIT_ERROR;
    memcpy(*state, bytes, sizeof(unit_state));
    return UNIT_OK;
}

/* What is not offered. These take more arguments and look at the first alone. */
#define NONE(function) \
    SHOWN fmi2Status function(fmi2Component c) { return refuse(c, #function " is not offered"); }
NONE(fmi2GetBoolean) NONE(fmi2GetString) NONE(fmi2SetInteger) NONE(fmi2SetBoolean) NONE(fmi2SetString)
NONE(fmi2GetDirectionalDerivative) NONE(fmi2GetRealOutputDerivatives) NONE(fmi2GetStatus) NONE(fmi2GetIntegerStatus)
NONE(fmi2GetStringStatus)
