#include "trio.h"

#include <cstdlib>

namespace belay::bench {

Trio::Trio(const std::string& program)
    : child_("env BELAY_TEST_SERVER='" + program + "' " BELAY_TRIO) {
  const std::string line = child_.hear();  // its URL and the master's address
  url_ = line.substr(0, line.find(' '));
  master_port_ = std::atoi(line.c_str() + line.rfind(':') + 1);
}

void Trio::tell(const char* command) {
  child_.say(command);
  child_.hear();
}

}  // namespace belay::bench
