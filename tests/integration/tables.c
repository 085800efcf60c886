// The tests of the driver `integration`, in the order in which they run.
#include <stddef.h>

#include "support.h"

const Test* const test_tables[] = {
    turn_tests,    reader_writer_tests, held_together_tests, semaphore_tests,
    latch_tests,   latch_wait_tests,    several_names_tests, lock_delay_tests,
    hold_tests,    query_tests,         name_tests,          guard_tests,
    async_tests,   within_tests,        option_tests,        nowait_tests,
    wakeup_tests,  end_tests,           fault_tests,         late_tests,
    cut_tests,     distance_tests,      death_tests,         state_tests,
    clock_tests,   hosts_tests,         sentinel_tests,      host_tests,
    refusal_tests, rights_tests,        misuse_tests,        log_tests,
    metric_tests,  secret_tests,        scale_tests,
#ifdef BELAY_TLS
    tls_tests,
#endif
    NULL};
const bool sees_every_number = true;
