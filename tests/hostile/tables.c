// The tests of the driver `hostile`, in the order in which they run.
#include <stddef.h>

#include "support.h"

extern const Test forged_tests[];
extern const Test flood_tests[];

const Test* const test_tables[] = {forged_tests, flood_tests, NULL};
const bool sees_every_number = false;
