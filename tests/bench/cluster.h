// A cluster of three masters with a replica each, which tests/support/cluster.py starts. Owned by a
// block; used by the main thread.
#pragma once

#include <string>

#include "child.h"

namespace belay::bench {

class Cluster {
 public:
  // `program`: redis-server, valkey-server or a path to one.
  explicit Cluster(const std::string& program)
      : child_("env BELAY_TEST_SERVER='" + program + "' " BELAY_CLUSTER) {
    const std::string line = child_.hear();  // its URL and names
    url_ = line.substr(0, line.find(' '));
  }

  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  Child child_;
  std::string url_;
};

}  // namespace belay::bench
