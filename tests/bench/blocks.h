// The blocks: each measures one thing, prints its table and adds its figures to the summary.
#pragma once

#include "measure.h"
#include "report.h"

namespace belay::bench {

// block_uncontended.cpp
void run_pair(const Plan& plan, Report& report);
void run_threads64(const Plan& plan, Report& report);
void run_flight64(const Plan& plan, Report& report);
void run_names16(const Plan& plan, Report& report);
// block_contended.cpp
void run_handoff(const Plan& plan, Report& report);
void run_commands(const Plan& plan, Report& report);
// block_local.cpp
void run_local16(const Plan& plan, Report& report);
void run_reentry(const Plan& plan, Report& report);
// block_kinds.cpp
void run_kinds(const Plan& plan, Report& report);
void run_readers16(const Plan& plan, Report& report);
// block_scale.cpp
void run_scale(const Plan& plan, Report& report);
// block_server.cpp
void run_server(const Plan& plan, Report& report);
// block_sentinel.cpp
void run_sentinel(const Plan& plan, Report& report);
// block_cluster.cpp
void run_cluster(const Plan& plan, Report& report);
// block_tls.cpp
void run_tls(const Plan& plan, Report& report);
// block_peers.cpp
void run_peers_pair(const Plan& plan, Report& report);
void run_peers_names16(const Plan& plan, Report& report);
void run_peers_shared16(const Plan& plan, Report& report);
void run_peers_handoff(const Plan& plan, Report& report);
void run_peers_waiters10000(const Plan& plan, Report& report);
void run_peers_cluster(const Plan& plan, Report& report);
// block_failover.cpp
void run_peers_failover(const Plan& plan, Report& report);

}  // namespace belay::bench
