// The library's options are asked of the library, with the values that they have here: a new one
// needs no line in this program.
#include "help.h"

#include <belay/belay.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "exit_codes.h"
#include "handles.h"
#include "text.h"

namespace {

struct Topic {
  const char* name;
  const char* text;
};

constexpr std::array<Topic, 8> kTopics = {{{"", kMainHelp},
                                           {"run", kRunHelp},
                                           {"latch", kLatchHelp},
                                           {"semaphore", kSemaphoreHelp},
                                           {"inspect", kInspectHelp},
                                           {"ls", kListHelp},
                                           {"break", kBreakHelp},
                                           {"top", kTopHelp}}};

// "NAME=VALUE", and below it what it is and what may be set.
std::string option_help(belay_options* options, const char* name) {
  const std::string value = belay_options_get(options, name);
  const std::string range = belay_option_text(name, BELAY_OPTION_RANGE);
  const std::string variable = belay_option_text(name, BELAY_OPTION_VARIABLE);
  return "  " + std::string(name) + (value.empty() ? "" : "=" + visible(value)) + "\n      " +
         belay_option_text(name, BELAY_OPTION_ABOUT) + (range.empty() ? "" : "; " + range) +
         (variable.empty() ? "" : "; $" + variable) + "\n";
}

std::string options_help() {
  const Options options(belay_options_new());
  std::string text =
      "The options of the library, as belay help finds them here. --set NAME=VALUE, the\n"
      "last one, wins over other options of the command, these over a parameter of the\n"
      "URL (redis://HOST?NAME=VALUE), and that over the variable. The label of belay run\n"
      "is the name of its COMMAND, unless one of these sets it.\n";
  for (std::int32_t i = 0; const char* name = belay_option_name(i); i++) {
    text += option_help(options.get(), name);
  }
  return text;
}

}  // namespace

int help(const std::vector<std::string>& topics) {
  if (topics.size() > 1) {
    complain("belay help takes one subject, not also " + shown_word(topics[1]));
    return kExitUsage;
  }
  const std::string topic = topics.empty() ? "" : topics[0];
  if (topic == "options") {
    std::fputs(options_help().c_str(), stdout);
    return kExitOk;
  }
  const auto* const found = std::find_if(kTopics.begin(), kTopics.end(),
                                         [&topic](const Topic& one) { return topic == one.name; });
  if (found == kTopics.end()) {
    complain("no help on " + shown_word(topic) + " (see belay --help)");
    return kExitUsage;
  }
  std::fputs(found->text, stdout);
  return kExitOk;
}
