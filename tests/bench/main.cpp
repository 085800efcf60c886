// Times Belay beside floors of plain hiredis, on a server of its own. Nothing is asserted about
// times; only what cannot be measured at all is an error.
#include <belay/belay.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "blocks.h"
#include "target.h"

namespace {

using belay::bench::give_up;
using belay::bench::Plan;
using belay::bench::Report;
using belay::bench::Server;

constexpr const char* kUsage =
    "usage: belay_bench [--quick] [--rounds N] [--slice-ms N] [--server PROGRAM] [--side NAME] "
    "[--peer NAME=COMMAND]... [--table FILE] [block...]\n"
    "blocks: pair threads64 flight64 names16 handoff commands local16 reentry kinds readers16 "
    "server sentinel cluster tls scale "
    "peers_pair peers_names16 peers_shared16 peers_handoff peers_waiters10000 peers_cluster "
    "peers_failover "
    "(default: all but scale, which takes minutes, and peers_; with --peer only those)\n"
    "--side runs one side only, for profilers\n"
    "--peer adds a program to the blocks of peers\n"
    "--table writes the table of these blocks to a file, for plot.py\n";

struct Block {
  const char* name;
  void (*run)(const Plan&, Report&);
};

constexpr Block kBlocks[] = {{"pair", belay::bench::run_pair},
                             {"threads64", belay::bench::run_threads64},
                             {"flight64", belay::bench::run_flight64},
                             {"names16", belay::bench::run_names16},
                             {"handoff", belay::bench::run_handoff},
                             {"commands", belay::bench::run_commands},
                             {"local16", belay::bench::run_local16},
                             {"reentry", belay::bench::run_reentry},
                             {"kinds", belay::bench::run_kinds},
                             {"readers16", belay::bench::run_readers16},
                             {"server", belay::bench::run_server},
                             {"sentinel", belay::bench::run_sentinel},
                             {"cluster", belay::bench::run_cluster},
#ifdef BELAY_TLS
                             {"tls", belay::bench::run_tls},
#endif
                             {"scale", belay::bench::run_scale},
                             {"peers_pair", belay::bench::run_peers_pair},
                             {"peers_names16", belay::bench::run_peers_names16},
                             {"peers_shared16", belay::bench::run_peers_shared16},
                             {"peers_handoff", belay::bench::run_peers_handoff},
                             {"peers_waiters10000", belay::bench::run_peers_waiters10000},
                             {"peers_cluster", belay::bench::run_peers_cluster},
                             {"peers_failover", belay::bench::run_peers_failover}};

struct Arguments {
  bool quick = false;
  int rounds = 0;  // 0: by quick
  int slice_ms = 0;
  std::string server = "redis-server";
  std::string side;
  std::vector<belay::bench::Program> peers;
  std::string table;
  std::vector<std::string> blocks;
};

[[noreturn]] void refuse(const std::string& what) {
  give_up(what + "\n" + kUsage);
}

int positive(const char* text, const char* option) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || number < 1 || number > 1'000'000) {
    refuse(std::string(option) + " needs a number from 1 on, not '" + text + "'");
  }
  return static_cast<int>(number);
}

belay::bench::Program program(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    refuse("--peer needs NAME=COMMAND, not '" + text + "'");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_block(const std::string& name) {
  for (const Block& block : kBlocks) {
    if (name == block.name) {
      return true;
    }
  }
  return false;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] {
      if (++i >= argc) {
        refuse(option + " needs a value");
      }
      return argv[i];
    };
    if (option == "--quick") {
      arguments.quick = true;
    } else if (option == "--rounds") {
      arguments.rounds = positive(value(), "--rounds");
    } else if (option == "--slice-ms") {
      arguments.slice_ms = positive(value(), "--slice-ms");
    } else if (option == "--server") {
      arguments.server = value();
    } else if (option == "--side") {
      arguments.side = value();
    } else if (option == "--peer") {
      arguments.peers.push_back(program(value()));
    } else if (option == "--table") {
      arguments.table = value();
    } else if (option == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (is_block(option)) {
      arguments.blocks.push_back(option);
    } else {
      refuse("'" + option + "' is neither an option nor a block");
    }
  }
  return arguments;
}

bool wanted(const Arguments& arguments, const char* block) {
  if (arguments.blocks.empty()) {
    const std::string name = block;
    const bool of_peers = name.starts_with("peers_");
    return arguments.peers.empty() ? name != "scale" && !of_peers : of_peers;
  }
  for (const std::string& name : arguments.blocks) {
    if (name == block) {
      return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const int rounds = arguments.rounds > 0 ? arguments.rounds : arguments.quick ? 8 : 40;
  const int slice_ms = arguments.slice_ms > 0 ? arguments.slice_ms : arguments.quick ? 50 : 100;
  Server server(arguments.server);
  const Plan plan{server, rounds, slice_ms / 1e3, arguments.quick, arguments.side, arguments.peers};
  std::printf("Belay %s on %s, loopback TCP; %d rounds of %d ms a side, in alternating order\n",
              belay_version(), server.version().c_str(), rounds, slice_ms);
  Report report;
  for (const Block& block : kBlocks) {
    if (wanted(arguments, block.name)) {
      block.run(plan, report);
    }
  }
  report.show_overview();
  if (!arguments.table.empty() &&
      !report.overview().write(arguments.table,
                               std::string("Belay ") + belay_version() + ", " + server.version() +
                                   ", " + std::to_string(std::thread::hardware_concurrency()) +
                                   " cores")) {
    give_up("the table could not be written to '" + arguments.table + "'");
  }
  report.summary();
  std::printf("holds lost, as the machine stood still: %lld\n",
              static_cast<long long>(belay::bench::Target::lost()));
  return 0;
}
