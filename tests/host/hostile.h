// What the tests of hostile hosts share.
#pragma once

#include "support.h"

extern const Test descriptor_tests[];
extern const Test fork_tests[];
extern const Test limit_tests[];
extern const Test host_clock_tests[];
extern const Test address_tests[];
