// The belay command: holds a lock while a command runs, and shows who holds what. It uses the
// public C API only. This file picks the subcommand.
#include <belay/belay.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "arguments.h"
#include "exit_codes.h"
#include "help.h"
#include "text.h"

namespace {

// A closed stdin, stdout or stderr becomes /dev/null: otherwise the connection to the server would
// get its number, and what is meant for stderr would be sent there.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) < 0) {
      [[maybe_unused]] const int lowest_free = open("/dev/null", O_RDWR);  // NOLINT: stays open
    }
  }
}

template <typename OptionsType, typename Action>
int act(const std::variant<int, OptionsType>& parsed, Action action) {
  const int* code = std::get_if<int>(&parsed);
  return code != nullptr ? *code : action(std::get<OptionsType>(parsed));
}

int dispatch(const std::string& verb, std::vector<std::string> arguments) {
  if (verb == "run") {
    return act(parse_run(std::move(arguments)), run);
  }
  if (verb == "inspect") {
    return act(parse_inspect(std::move(arguments)), inspect);
  }
  if (verb == "ls") {
    return act(parse_list(std::move(arguments)), list);
  }
  if (verb == "break") {
    return act(parse_break(std::move(arguments)), break_lock);
  }
  if (verb == "latch") {
    return act(parse_latch(std::move(arguments)), latch);
  }
  if (verb == "semaphore") {
    return act(parse_semaphore(std::move(arguments)), semaphore);
  }
  if (verb == "top") {
    return act(parse_top(std::move(arguments)), top);
  }
  if (verb == "help" || verb == "--help" || verb == "-h") {
    return help(arguments);
  }
  if (verb == "--version" || verb == "-V") {
    std::printf("belay %s\n", belay_version());
    return kExitOk;
  }
  complain("unknown command " + shown_word(verb) + " (see belay --help)");
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  if (argc < 2) {
    std::fputs(kMainHelp, stderr);
    return kExitUsage;
  }
  return dispatch(argv[1], std::vector<std::string>(argv + 2, argv + argc));
}
