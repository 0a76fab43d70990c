/* A pendulum with a wall as others run it: another rod, an input, bounces, a saved state. Numbers as text, every bit of them. */
#include <stdio.h>
#include <stdlib.h>

#include "swing.h"

static void show(swing *m) {
    printf("%a %a %a %a %a", swing_time(m), swing_q(m)[0], swing_q(m)[1], swing_v(m)[0], swing_v(m)[1]);
    printf(" %a %a %lld\n", swing_lambda(m)[0], swing_outputs(m)[0], (long long)swing_event_count(m, 0));
}

int main(void) {
    swing *m = swing_create();
    void *kept = malloc(swing_size());
    if (!m || !kept) return 1;
    for (int k = 1; k <= 20; k++) {
        if (swing_set(m, SWING_U_PUSH, 0.1 * (k % 7)) || swing_step_to(m, 0.25 * k)) return 2;
        show(m);
    }
    if (swing_set(m, SWING_P_L, 2.0) || swing_reset(m, 0.0, NULL, NULL)) return 3;
    show(m);
    if (swing_step_to(m, 3.3)) return 4;
    swing_save(m, kept);
    if (swing_step_to(m, 7.0)) return 5;
    show(m);
    swing_restore(m, kept);
    if (swing_step_to(m, 7.0)) return 6;
    show(m);
    free(kept);
    swing_free(m);
    return 0;
}
