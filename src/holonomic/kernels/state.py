"""The layout of the loop's own memory: everything that lets a run stop and go on without losing a bit."""

from __future__ import annotations

from .counting import N_COUNTS

# S, float64: time, step, controller memory, limits
T, H, ERR_OLD, T_STOP, RHO_LEAST, H_USED, T_NEW, T_BASE, H_FIXED, T_STIFF, T_FAILED, H_MAX = range(12)
RTOL, EXPONENT, BETA, SAFETY, FAC_MIN, FAC_MAX, STIFF_BOUND, WORST, STAY, H_ACC, ERR_ACC, RHO_ASKED = range(12, 24)
RHO_MOST, T_LEAST, H_LEAST, FORESEES, RATIO_Q, RATIO_V, NEW_RATIO_Q, NEW_RATIO_V, STIFFNESS, H_SURE = range(24, 34)
N_FLOATS = 34

# I, int64: phase, counters, flags
PHASE, ACCEPTED, REJECTED, FAILED, PULL_REJECTED, ROWS, SAVED, QUOTA, LIMIT, FIXED, STEP_NUMBER = range(11)
STIFF, NONSTIFF, IS_STIFF, LAST_STATUS, AFTER_REJECT, LAST, KEEP_STEPS, DENSE_READY = range(11, 19)
EVENT_ROWS, RETAKE, EVENT_FIELD, FRESH, PULLS, DENSES, HIT = range(19, 26)
RETAKEN, TRIES, STEERS, PREPARED, DODGES, OF_STEP, ADVISES, CROSSES, ALARM, GUIDED, ALONG, NOTES, PATHS, DOUBTS = range(26, 40)
ROUGH = 40
COUNTS = 41
N_INTS = COUNTS + N_COUNTS

# FORESEES: 1 where the next step follows from the last two; RATIO_Q, RATIO_V: e5/e3 of an estimate in two parts, for q
# and v, in the step before; NEW_...: in the one that is tried
# STIFFNESS: h times the dominant eigenvalue, in the last step before a saved time
# H_SURE: the length up to which steps can be looked into, 0 where unknown
# ROUGH: steps rejected with an error far too large
# COUNTS: residuals, Jacobians and factorizations of implicit steps
# CROSSES: where singular positions are passed on a path, BY_STAGES or BY_ENDS, see below; ALARM: why one is looked for,
# ANSWERED once there is none; GUIDED: 1 while a path supplies the steps; ALONG: 1 while such a step is dealt with;
# PATHS: paths in the buffer
# NOTES: 1 where K has two rows more, for the state and the slope at RHO_LEAST, the smallest pivot ratio
# OF_STEP: how many rows in the buffer belong to the step that is being written
# STEERS: -1, or the row of K in which an integrator that chooses its own step and order says them
STEER_ORDER, STEER_STEP = 1, 3
# ADVISES: -1, or the row of K in which an integrator says after a step how its iteration went: whether the factors are
# worth keeping, how much safety the next step needs, and after a failure how much shorter to try
ADVICE_KEEP, ADVICE_SAFETY, ADVICE_SHRINK = 5, 6, 7
# DOUBTS: -1, or the row of K in which dense output says how wrong it is between the ends of a step, in tolerances, and
# the exponent by which that sets the length of the next one
DOUBT, DOUBT_EXPONENT = 11, 12

# CROSSES: rows of K hold pivot ratios at all stages, or at both ends alone
BY_STAGES, BY_ENDS = 1, 2

# alarms: a singular position inside the step, behind its end, or right on one of its points
INSIDE, AHEAD, ON_STAGE, ANSWERED = 1, 2, 3, 4

# phases
STEPPING, WATCHING, WRITING, PASSING = 0, 1, 2, 3
