// The wire contract against bytes in files: the calls of a transcript, on every server, have the
// replies, leave behind the keys and publish the messages that stand there. One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "script/backend.h"
#include "script/lock_fixture.h"
#include "scripts/scripts.h"
#include "support/reply.h"

namespace belay::test {
namespace {

using Words = std::vector<std::string>;

// Words of a line, of which those in quotes are as printable() makes them.
Words words_of(const std::string& line) {
  Words words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
    std::string word;
    const bool quoted = line[at] == '"';
    const char end = quoted ? '"' : ' ';
    for (at += quoted ? 1 : 0; at < line.size() && line[at] != end; ++at) {
      if (quoted && line.compare(at, 2, "\\x") == 0) {
        word.push_back(static_cast<char>(std::stoi(line.substr(at + 2, 2), nullptr, 16)));
        at += 3;
      } else {
        word.push_back(line[at]);
      }
    }
    at += quoted ? 1 : 0;
    words.push_back(word);
  }
  return words;
}

const Script& script_of(const std::string& name) {
  for (const Script* const script :
       {&scripts::kAcquire, &scripts::kTake, &scripts::kMany, &scripts::kLeave, &scripts::kRelease,
        &scripts::kReleaseMembers, &scripts::kRenew, &scripts::kKeep, &scripts::kKeepMembers,
        &scripts::kInspect, &scripts::kBreak, &scripts::kLimit, &scripts::kGuard,
        &scripts::kLatchSet, &scripts::kLatchDown, &scripts::kLatchAwait, &scripts::kLatchLeave}) {
    if (script->name == name) {
      return *script;
    }
  }
  throw std::invalid_argument("no script has the name " + name);
}

class Frozen : public testing::TestWithParam<Backend::Kind> {
 protected:
  void SetUp() override { backend_.reset(); }

  void TearDown() override { backend_.reset(); }

  // What a line of the transcript does, as the lines that are to follow it.
  std::string outcome_of(const std::string& line) {
    const Words words = words_of(line.substr(2));
    if (words[0] == "clock") {
      clock_ = words[1];
      return "";
    }
    if (words[0] == "listen") {
      backend_.listen(words[1]);
      return "";
    }
    const Reply reply = backend_.execute(words[0] == "call" ? call_of(words) : words);
    std::string text = "reply " + reply.canonical() + "\n";
    text += changes();
    for (const Message& message : backend_.take_messages()) {
      text += "message " + printable(message.channel) + " " + printable(message.payload) + "\n";
    }
    return text;
  }

 private:
  // The script takes the time from the transcript.
  Words call_of(const Words& words) const {
    const std::string time = "redis.call('TIME')";
    const std::string now =
        "{ " + clock_.substr(0, clock_.size() - 6) + ", " + clock_.substr(clock_.size() - 6) + " }";
    std::string body(script_of(words[1]).body);
    for (auto at = body.find(time); at != std::string::npos; at = body.find(time, at)) {
      body.replace(at, time.size(), now);
    }
    const auto bar = std::find(words.begin(), words.end(), "|");
    Words argv{"EVAL", body, std::to_string(bar - words.begin() - 2)};
    argv.insert(argv.end(), words.begin() + 2, bar);
    argv.insert(argv.end(), bar + 1, words.end());
    return argv;
  }

  std::string changes() {
    std::string text;
    std::map<std::string, std::string> keys;
    std::istringstream contents(contents_of(backend_));
    for (std::string line; std::getline(contents, line);) {
      const std::string key = line.substr(0, line.find(" = "));
      keys[key] = line;
      text += keys_[key] == line ? "" : "key " + line + "\n";
    }
    for (const auto& [key, line] : keys_) {
      text += keys.contains(key) || line.empty() ? "" : "gone " + key + "\n";
    }
    keys_ = keys;
    return text;
  }

  Backend& backend_ = Backend::get(GetParam());
  std::string clock_;
  std::map<std::string, std::string> keys_;
};

TEST_P(Frozen, VersionTwoIsAsItWas) {
  std::ifstream file(BELAY_FROZEN "/version_2.txt");
  ASSERT_TRUE(file.is_open());
  std::string expected;
  std::string actual;
  int calls = 0;
  for (std::string line; std::getline(file, line);) {
    expected += line + "\n";
    if (line.starts_with("> ")) {
      ++calls;
      actual += line + "\n" + outcome_of(line);
    } else if (line.empty() || line.starts_with("#")) {
      actual += line + "\n";
    }
  }
  EXPECT_GT(calls, 100);
  if (const char* const now = std::getenv("BELAY_FROZEN_NOW")) {  // to add calls
    std::ofstream(now) << actual;
  }
  EXPECT_EQ(actual, expected);
}

ON_ALL_BACKENDS(Frozen);

}  // namespace
}  // namespace belay::test
