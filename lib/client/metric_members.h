// A client's metrics as the members of an event. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/metrics.h"

namespace belay {

void add_metric(const std::string& name, std::int64_t value, std::vector<Member>* members);
void add_metrics(const Metrics& metrics, std::vector<Member>* members);

}  // namespace belay
