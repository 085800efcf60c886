// From the command line to options: each function reads the arguments after a subcommand's name.
// A number instead of options is the code to exit with: help was shown, or a complaint made.
#ifndef BELAY_TOOLS_ARGUMENTS_H
#define BELAY_TOOLS_ARGUMENTS_H

#include <string>
#include <variant>
#include <vector>

#include "latch.h"
#include "run.h"
#include "semaphore.h"
#include "show.h"
#include "top.h"

std::variant<int, RunOptions> parse_run(std::vector<std::string> arguments);
std::variant<int, ShowOptions> parse_inspect(std::vector<std::string> arguments);
std::variant<int, ShowOptions> parse_list(std::vector<std::string> arguments);
std::variant<int, ShowOptions> parse_break(std::vector<std::string> arguments);
std::variant<int, LatchOptions> parse_latch(std::vector<std::string> arguments);
std::variant<int, SemaphoreOptions> parse_semaphore(std::vector<std::string> arguments);
std::variant<int, TopOptions> parse_top(std::vector<std::string> arguments);

#endif
