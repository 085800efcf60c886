// The tables of tests of hostile hosts, in the order in which they run.
#include <stddef.h>

#include "hostile.h"

const Test* const test_tables[] = {descriptor_tests, fork_tests,    limit_tests,
                                   host_clock_tests, address_tests, NULL};
const bool sees_every_number = false;
