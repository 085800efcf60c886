// The tests of the driver `cluster`: its own, and those of one server that say what users see.
#include <stddef.h>

#include "support.h"

const Test* const test_tables[] = {
    cluster_tests,       turn_tests, reader_writer_tests, held_together_tests, semaphore_tests,
    several_names_tests, NULL};
const bool sees_every_number = false;
