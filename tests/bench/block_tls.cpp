// What TLS costs: a pair beside the same in plain, and a client's way to its first answer.
#include <belay/belay.h>

#include <string>
#include <vector>

#include "blocks.h"
#include "crew.h"
#include "pairs.h"
#include "target.h"

namespace belay::bench {

namespace {

// A client that is made, has an answer, and ends.
Side first_answers(const char* name, const std::string& url) {
  return {name, [url](double seconds) {
            return run_alone(seconds, [&] {
              Target target(url);
              expect_ok(belay_client_ping(target.get(), nullptr), "belay_client_ping");
            });
          }};
}

}  // namespace

void run_tls(const Plan& plan, Report& report) {
  report.begin("tls", "TLS 1.3 beside plain: a pair; a client's way to its first answer");
  const std::string url = plan.server.tls_url();
  Target plain(plan.server.url());
  Target sealed(url);
  std::int64_t count = 0;
  const std::vector<Measured> measured = compare(
      plan, {belay_pairs("plain", plain, count), belay_pairs("tls", sealed, count),
             first_answers("plain first", plan.server.url()), first_answers("tls first", url)});
  report.sides(measured, "call");
  report.line("p50 of a pair to plain: " + show(latency_ratio(measured, "tls", "plain")));
  report.line("p50 of a first answer to plain: " +
              show(latency_ratio(measured, "tls first", "plain first")));
}

}  // namespace belay::bench
