"""The memory of a run and the sizes of a plan: every field with its meaning, declared here and nowhere else."""

from __future__ import annotations

from ..native.layout import REAL, WHOLE, Layout

RUN = Layout("Run", (
    # time and step
    ("t", REAL, "time of the last accepted point"),
    ("h", REAL, "step that is proposed, with its sign"),
    ("t_stop", REAL, "time at which the loop returns DONE"),
    ("t_new", REAL, "time of the end of the step that is dealt with"),
    ("h_used", REAL, "length of the step that is dealt with"),
    ("h_tried", REAL, "length of the attempt"),
    ("landing", REAL, "the same where it ends on a saved time; 0: it does not"),
    ("h_max", REAL, "longest step that is allowed"),
    ("h_fixed", REAL, "fixed step, with its sign"),
    ("t_base", REAL, "time from which fixed steps are counted"),
    ("h_sure", REAL, "length up to which steps can be looked into; 0 where unknown"),
    # error and step control
    ("rtol", REAL, "relative tolerance"),
    ("err", REAL, "error of the attempt, in tolerances; after a collapse the worst component"),
    ("err_old", REAL, "error of the accepted step before, for the PI controller"),
    ("exponent", REAL, "of the error in the step factor"),
    ("beta", REAL, "exponent of the error before"),
    ("safety", REAL, "factor of safety"),
    ("factor_min", REAL, "smallest step factor"),
    ("factor_max", REAL, "largest step factor"),
    ("keeps_below", REAL, "growth of the step below which an implicit method keeps its factors, and the step"),
    ("h_before", REAL, "length of the accepted step before, where the next one follows from two; 0: none"),
    ("err_before", REAL, "its error"),
    ("foresees", WHOLE, "1 where the next step follows from the last two"),
    ("ratio_q", REAL, "e5/e3 of an estimate in two parts, for q, in the step before"),
    ("ratio_v", REAL, "the same for v"),
    ("new_ratio_q", REAL, "the same for q in the step that is tried"),
    ("new_ratio_v", REAL, "the same for v"),
    # pivot ratios and singular positions
    ("rho_least", REAL, "smallest pivot ratio of the run"),
    ("rho_most", REAL, "largest one"),
    ("rho_asked", REAL, "the one at which a singular position was looked for in vain"),
    ("t_least", REAL, "time of the smallest one"),
    ("h_least", REAL, "step there; 0: it is that of the start"),
    ("crosses", WHOLE, "where singular positions are passed on a path: BY_STAGES or BY_ENDS; 0: nowhere"),
    ("alarm", WHOLE, "why a singular position is looked for, ANSWERED once there is none"),
    ("guided", WHOLE, "1 while a path supplies the steps"),
    ("along", WHOLE, "1 while a step on a path is dealt with"),
    ("paths", WHOLE, "paths in the buffer"),
    ("dodges", WHOLE, "attempts to step around a singular position, from here"),
    ("notes", WHOLE, "1 where K has two rows more, for state and slope at the smallest pivot ratio"),
    # what a model and a stabilization have found
    ("uneven", WHOLE, "1 where light parts are between heavy ones, -1 where they are not, 0 until that is known"),
    ("factor_age", WHOLE, "steps since a stabilization that keeps its factors has made them; 0: it has none"),
    # stiffness
    ("stiff_bound", REAL, "|h λ| at which stability limits the method; 0: not looked at"),
    ("stiffness", REAL, "h times the dominant eigenvalue, in the last step before a saved time"),
    ("t_stiff", REAL, "time since which stability limits the step"),
    ("stiff_steps", WHOLE, "steps limited by stability, of late"),
    ("nonstiff_steps", WHOLE, "others since then"),
    ("is_stiff", WHOLE, "1 once there were 15"),
    ("rough", WHOLE, "steps rejected with an error far too large"),
    # what is done now
    ("phase", WHOLE, "STEPPING, WATCHING, WRITING or PASSING"),
    ("quota", WHOLE, "steps that may be tried before Python is asked"),
    ("limit", WHOLE, "steps that may be tried in all"),
    ("fixed", WHOLE, "1 where the step is fixed"),
    ("step_number", WHOLE, "fixed steps since t_base"),
    ("evaluated", WHOLE, "1 while the field at the last accepted point stands in the first stage"),
    ("prepared", WHOLE, "1 while what a formulation chooses before a step is chosen"),
    ("reaches_stop", WHOLE, "1 where the step ends at t_stop"),
    ("after_reject", WHOLE, "1 after a rejected attempt: the step may not grow"),
    ("dense_ready", WHOLE, "1 once the dense output of this step can be asked"),
    ("retake", WHOLE, "number of the event, from 1, to whose time the step is taken again"),
    ("tries", WHOLE, "how often it was"),
    ("last_status", WHOLE, "what the last attempt failed of, other than its error"),
    ("t_failed", REAL, "where that was"),
    # how it begins
    ("first_given", WHOLE, "1 where the first step is given"),
    ("order", WHOLE, "for which the first step is chosen"),
    ("at_lam", WHOLE, "place of λ in x, where it is an unknown and begins with what the field gives; -1: it does not"),
    ("remembers", WHOLE, "1 where the integrator keeps what it knows of steps before in K"),
    # what a method says
    ("last_stage", WHOLE, "row of K with the field at the end of the step"),
    ("steers", WHOLE, "1 where an integrator chooses its own step and order"),
    ("steered_h", REAL, "the step it has chosen, once the last one is accepted"),
    ("steered_order", WHOLE, "the order of the step that is tried"),
    ("advises", WHOLE, "1 where it says how its iteration went"),
    ("advice_keep", WHOLE, "1 where the factors are worth keeping"),
    ("advice_safety", REAL, "how much safety the next step needs"),
    ("advice_shrink", REAL, "after a failure, how much shorter to try"),
    ("doubts", WHOLE, "1 where its dense output says how wrong it is"),
    ("doubt", REAL, "how wrong dense output is between the ends of this step, in tolerances"),
    ("doubt_exponent", REAL, "of that, in the length of the next step"),
    ("event_reach", REAL, "time over which event functions follow a cubic, as far as the last piece tells; 0: not known"),
    ("event_piece", REAL, "length, in time, of the last piece of the step that was looked into"),
    ("event_past", REAL, "the same of the step before, whose values are known; 0: there is none"),
    ("looked", REAL, "share of the step that has been looked into for events"),
    ("event_field", WHOLE, "1 where events ask for accelerations or multipliers"),
    # what is written
    ("keep_steps", WHOLE, "1 where every step is kept"),
    ("rows", WHOLE, "rows in the buffer"),
    ("rows_of_step", WHOLE, "how many of them belong to the step that is being written"),
    ("saved", WHOLE, "times of save_at that are behind"),
    ("event_rows", WHOLE, "events in their buffer"),
    # counts
    ("accepted", WHOLE, "accepted steps"),
    ("rejected", WHOLE, "steps rejected by their error"),
    ("failed", WHOLE, "attempts that failed otherwise"),
    ("pull_rejected", WHOLE, "of these, by the stabilization"),
    ("retaken", WHOLE, "steps taken again for events"),
    ("pulls", WHOLE, "calls of the stabilization"),
    ("dense_outputs", WHOLE, "steps whose dense output was made"),
    ("residuals", WHOLE, "residuals of implicit steps"),
    ("jacobians", WHOLE, "their Jacobians"),
    ("factorizations", WHOLE, "and factorizations"),
))  # fmt: skip

# phases
STEPPING, WATCHING, WRITING, PASSING = 0, 1, 2, 3

# crosses: rows of K hold pivot ratios at all stages, or at both ends alone
BY_STAGES, BY_ENDS = 1, 2

# alarm: a singular position inside the step, behind its end, or right on one of its points
INSIDE, AHEAD, ON_STAGE, ANSWERED = 1, 2, 3, 4

SIZE = Layout("Size", tuple((name, WHOLE, meaning) for name, meaning in (
    # of the state and of a stage row
    ("nq", "positions: coordinates, then extra states and algebraic variables"),
    ("nc", "coordinates among them"),
    ("nw", "algebraic variables among them, the last ones"),
    ("nv", "velocities"),
    ("nl", "multipliers, and velocity rows"),
    ("n_position", "position rows: constraints and invariants"),
    ("nh", "constraints among them"),
    ("rank", "independent ones of the nl rows"),
    ("rank_nh", "independent ones of the constraints"),
    ("nx", "numbers in a state"),
    ("nrow", "numbers in a stage row (q', v', λ, ρ)"),
    ("dense_first", "the first of the stage rows that dense output reads, where they are kept"),
    ("nk", "numbers in (v', λ)"),
    ("n_events", "events"),
    ("n_errors", "error vectors"),
    ("shared", "1 where position and velocity rows have one Jacobian, and so one factor buffer"),
    ("dense", "1 where the model offers dense terms of the whole system"),
    ("n_velocity", "numbers of VELOCITY: velocity rows, then G in the model's own form"),
    # of an implicit formulation
    ("ny", "unknowns, q and v first"),
    ("n_differential", "differential ones among them"),
    ("n_equations", "equations"),
    ("n_differential_rows", "those with slopes among them, the first ones"),
    ("n_middle", "unknowns that belong to the stages of a step, not to its end; the last ones"),
    ("at_selectors", "where selectors begin in data; 0: there are none"),
    ("selector", "their kind"),
    ("select_nv", "entries they choose among"),
    ("select_nl", "constraints they are made of"),
    # places in the workspace, which begins with room for the dense solve
    ("at_position", "factors of position rows"),
    ("at_velocity", "factors of velocity rows"),
    ("at_full", "factors of all rows"),
    ("at_residual", "residuals"),
    ("at_correction", "corrections"),
    ("at_multipliers", "intermediate multipliers"),
    ("at_state", "an intermediate state"),
    ("at_newton", "what Newton's method works with: see `newton_operators`"),
    ("n_linear", "numbers of the linearized equations there"),
    ("n_factors", "of real factors behind them"),
    ("n_pair", "of complex factors, each pair"),
    ("work_end", "the end"),
)))  # fmt: skip
