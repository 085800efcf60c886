#include "fuzz/hostile_server.h"

#include <cstdlib>
#include <cstring>

#include "dialect/mac.h"
#include "engine/answers.h"
#include "fuzz/witness.h"
#include "scripts/scripts.h"
#include "sim/resp.h"

namespace belay::fuzz {
namespace {

using sim::RespWriter;

constexpr char kLate = 4;

std::string packed(double number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  return {bytes, sizeof bytes};
}

std::string bulk(std::string_view text) {
  std::string bytes;
  RespWriter(bytes, RespWriter::Protocol::kResp3).bulk(text);
  return bytes;
}

// A script's reply with the mark of its call, which is the last argument.
std::string marked(const std::string& reply, const std::string& mark) {
  const std::size_t line = reply.find("\r\n") + 2;
  const std::size_t count = std::strtoul(reply.c_str() + 1, nullptr, 10);
  if (reply[0] == '*') {
    return "*" + std::to_string(count + 1) + "\r\n" + reply.substr(line) + bulk(mark);
  }
  return bulk(reply.substr(line, count) + mark);
}

std::string bulks(const std::vector<std::string>& texts) {
  std::string bytes;
  RespWriter(bytes, RespWriter::Protocol::kResp3).array(texts.size());
  for (const std::string& text : texts) {
    bytes += bulk(text);
  }
  return bytes;
}

}  // namespace

std::string HostileServer::truth(const Argv& command) {
  return reply_of(command, false);
}

std::string HostileServer::answer(const Argv& command) {
  switch (input_.below(8)) {
    case 0:
    case 1:
      return reply_of(command, true);
    case 2: {  // a shorter one, still well-formed
      std::string text = packed_answer(command, false);
      text.resize(std::min<std::size_t>(text.size(), input_.byte()));
      return bulk(text + command.back());
    }
    case 3:
      return error();
    case 4:
      return other_type();
    case 5: {  // another command's
      const Script* script = input_.any_of<const Script*>(
          {&scripts::kAcquire, &scripts::kLeave, &scripts::kRenew, &scripts::kInspect,
           &scripts::kLatchAwait, &scripts::kLimit, &scripts::kBreak, &scripts::kMany,
           &scripts::kRelease, &scripts::kTake, &scripts::kKeep, &scripts::kKeepMembers,
           &scripts::kReleaseMembers});
      return reply_of(
          {"EVALSHA", std::string(script->sha1), "4", "r", "f", "w", "m", "", command.back()},
          true);
    }
    case 6:
      return bulk(std::string(input_.bytes()) + command.back());
    default:
      return truth(command);
  }
}

// A number, or in a lie sometimes another.
std::string HostileServer::number(double truth, bool lie) {
  return packed(lie && input_.flag() ? input_.real() : truth);
}

// As acquire.lua has it, from its code on.
std::string HostileServer::acquired(bool lie) {
  const auto ts = static_cast<double>(time_);
  const auto code = lie ? input_.below(11) : 1 + input_.below(3);
  std::string text(1, static_cast<char>(code));
  text += number(ts, lie);
  if (code == 1) {
    text += number(ts, lie) + number(ts + 8, lie);
    text.push_back(static_cast<char>(input_.below(2)));
    text += number(1, lie);
  } else if (code == 2) {
    text += number(0, lie) + number(50'000, lie) + number(ts, lie) + number(ts, lie);
    text += number(input_.flag() ? 100'000 : 0, lie);
  } else if (code == 3) {
    text += number(1'000'000, lie);
  } else if (code == 9) {
    text += number(3, lie);
  }
  return text;
}

// As many.lua and take.lua have it: all or none. A lie may be about another number of names.
std::string HostileServer::taken(const Argv& command, bool lie) {
  const auto ts = static_cast<double>(time_);
  const auto code = lie ? input_.below(8) : input_.any_of<std::size_t>({1, 3, 6});
  std::string text(1, static_cast<char>(code));
  text += number(ts, lie);
  if (code == 3) {
    text += number(1'000'000, lie);
  }
  const std::size_t names = names_of(command) + (lie ? input_.any_of<std::size_t>({0, 1}) : 0);
  for (std::size_t i = 0; code == 1 && i < names; ++i) {
    const double fence = ts + 8 * static_cast<double>(i);
    text += number(fence, lie) + number(fence + 8, lie);
    text.push_back(static_cast<char>(input_.below(2)));
  }
  return text;
}

// As leave.lua and release.lua have it, for each name.
std::string HostileServer::left(const Argv& command, bool lie) {
  std::string text;
  const std::size_t names = names_of(command);
  for (std::size_t i = 0; i < names; ++i) {
    text.push_back(static_cast<char>(lie ? input_.below(10) : 1));
    text += number(static_cast<double>(time_), lie);
    text += number(input_.flag() ? 100'000 : 0, lie);
  }
  return text;
}

// As latch_await.lua has it.
std::string HostileServer::awaited(bool lie) {
  const auto code = lie ? input_.below(10) : input_.any_of<std::size_t>({7, 2, 3, 8});
  std::string text(1, static_cast<char>(code));
  text += number(static_cast<double>(time_), lie);
  if (code == 2) {
    text += number(0, lie) + number(0, lie) + number(1, lie) + number(1, lie) + number(2, lie);
  } else if (code == 3) {
    text += number(1'000'000, lie) + number(1, lie) + number(2, lie);
  } else if (code == 7) {
    text += number(1, lie);
  }
  return text;
}

std::string HostileServer::renewed(const Argv& command, bool lie) {
  const auto ts = static_cast<double>(time_);
  std::string text = number(ts, lie);
  const std::size_t claims = names_of(command);
  for (std::size_t i = 0; i < claims; ++i) {
    text.push_back(static_cast<char>(lie ? input_.below(6) : 1));
    text += number(ts + 100, lie);
    text.push_back(static_cast<char>(lie ? input_.byte() : 0));
  }
  return text;
}

std::string HostileServer::packed_answer(const Argv& command, bool lie) {
  if (calls(command, scripts::kAcquire)) {
    return acquired(lie);
  }
  if (calls(command, scripts::kMany) || calls(command, scripts::kTake)) {
    return taken(command, lie);
  }
  if (calls(command, scripts::kLeave) || calls(command, scripts::kRelease) ||
      calls(command, scripts::kReleaseMembers)) {
    return left(command, lie);
  }
  if (calls(command, scripts::kLatchAwait)) {
    return awaited(lie);
  }
  if (calls(command, scripts::kRenew) || keeps(command)) {
    return renewed(command, lie);
  }
  std::string text(1, static_cast<char>(lie ? input_.below(10) : 1));
  text += number(static_cast<double>(time_), lie);
  if (calls(command, scripts::kLatchLeave)) {
    text[0] = lie ? text[0] : '\2';
  } else if (text[0] != kLate) {  // setting a latch or a limit, and counting down
    text += number(3, lie) + number(2, lie);
  }
  return text;
}

// Of a lock's one holder, of readers, or of a latch.
std::string HostileServer::record(bool lie) {
  const auto ts = static_cast<double>(time_);
  const std::string nobody(30, '\0');
  const std::size_t kind = input_.below(4);
  if (kind == 0) {
    return "";
  }
  if (kind == 3) {
    return std::string("\2\3\0", 3) + number(2, lie) + number(ts, lie) + number(6e7, lie) +
           number(200, lie) + number(1, lie) + number(1, lie) + number(0, lie) +
           std::string(2, '\0');
  }
  const std::string claim = kind == 1 ? std::string(22, 'c') + number(1, lie) : nobody;
  return std::string("\2\1\0", 3) + claim + number(ts, lie) + number(ts, lie) +
         number(ts + 8, lie) + number(ts + 1e6, lie) + std::string(4, '\1') + nobody +
         number(0, lie) +
         (kind == 1 ? "17 host label" : number(1, lie) + number(0, lie) + number(ts, lie) + "r");
}

// End and seat of each.
void HostileServer::add_members(std::size_t count, bool lie, std::string* bytes) {
  RespWriter reply(*bytes, RespWriter::Protocol::kResp3);
  for (std::size_t i = 0; i < count; ++i) {
    reply.bulk(std::to_string(lie ? input_.integer() : time_));
    reply.bulk(lie ? input_.bytes() : std::string(66, '\0') + "17 host label");
  }
}

// As every verb says it that has a not-after.
std::string HostileServer::late() {
  return bulk(kLate + number(static_cast<double>(time_), true));
}

// As inspect.lua has it: server time, a record or none, the numbers of waiters, of members, and of
// waiters that follow; then the ticket and the entry of those, and the members.
std::string HostileServer::inspection(bool lie) {
  const std::size_t waiters = input_.below(3);
  const std::size_t members = input_.below(3);
  const std::string what = record(lie);
  std::string bytes;
  RespWriter reply(bytes, RespWriter::Protocol::kResp3);
  reply.array(5 + 2 * waiters + 2 * members);
  reply.bulk(number(static_cast<double>(time_), lie));
  reply.bulk(what.substr(0, lie ? input_.byte() : what.size()));
  for (const std::size_t count : {waiters, members, waiters}) {
    reply.integer(lie ? input_.integer() : static_cast<std::int64_t>(count));
  }
  for (std::size_t i = 0; i < waiters; ++i) {
    reply.bulk(std::to_string(lie ? input_.integer() : time_));
    reply.bulk(lie ? input_.bytes() : std::string(72, '\0') + "17 host label");
  }
  add_members(members, lie, &bytes);
  return bytes;
}

// As break.lua has it: server time, a record or none, whether there is more to do; then members.
std::string HostileServer::broken(bool lie) {
  const std::size_t members = input_.below(3);
  const std::string what = record(lie);
  std::string bytes;
  RespWriter reply(bytes, RespWriter::Protocol::kResp3);
  reply.array(3 + 2 * members);
  reply.bulk(number(static_cast<double>(time_), lie));
  reply.bulk(what.substr(0, lie ? input_.byte() : what.size()));
  reply.integer(lie ? input_.integer() : 0);
  add_members(members, lie, &bytes);
  return bytes;
}

std::string HostileServer::hello(bool lie) {
  std::string bytes;
  RespWriter reply(bytes, RespWriter::Protocol::kResp3);
  reply.map(2);
  reply.bulk("version");
  reply.bulk(lie ? input_.any_of<std::string_view>({"7.0.15", "6.0", "99999999999999999999.1", "",
                                                    "7.\x1b[31m", "99999999.99999999999.9"})
                 : "7.0.15");
  reply.bulk("role");
  reply.bulk(lie ? input_.any_of<std::string_view>({"master", "replica", "\x1b"}) : "master");
  return bytes;
}

std::string HostileServer::scan(bool lie) {
  std::string bytes;
  RespWriter reply(bytes, RespWriter::Protocol::kResp3);
  const std::size_t keys = input_.below(4);
  reply.array(2);
  reply.bulk(lie ? input_.any_of<std::string_view>({"0", "17", "", "\x01"}) : "0");
  reply.array(keys);
  for (std::size_t i = 0; i < keys; ++i) {
    reply.bulk(input_.any_of<std::string_view>(
        {"belay:r:{a}", "belay:r=x{a}", "belay:r:{a}}", "belay:w:{a}", "other", ""}));
  }
  return bytes;
}

std::string HostileServer::reply_of(const Argv& command, bool lie) {
  const std::string reply = unmarked_reply_of(command, lie);
  return command[0].starts_with("EVAL") ? marked(reply, command.back()) : reply;
}

std::string HostileServer::unmarked_reply_of(const Argv& command, bool lie) {
  const std::string& verb = command[0];
  if (verb == "HELLO") {
    return hello(lie);
  }
  if (verb == "CLIENT" && command[1] == "ID") {
    return ":" + std::to_string(lie ? input_.integer() : 7) + "\r\n";
  }
  if (verb == "SUBSCRIBE") {
    return ">3\r\n" + bulk("subscribe") + bulk(inbox_) + ":1\r\n";
  }
  if (verb == "INFO") {
    return bulk("maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\nrun_id:" +
                std::string(lie ? input_.bytes() : "r") + "\r\n");
  }
  if (verb == "TIME") {
    return bulks({std::to_string(lie ? input_.integer() : time_ / kSecond),
                  std::to_string(lie ? input_.integer() : time_ % kSecond)});
  }
  if (verb == "EXISTS") {
    return ":" + std::to_string(lie ? input_.integer() : 1) + "\r\n";
  }
  if (verb == "SCAN") {
    return scan(lie);
  }
  if (calls(command, scripts::kInspect)) {
    return inspection(lie);
  }
  if (calls(command, scripts::kBreak)) {
    return lie && input_.below(4) == 3 ? late() : broken(lie);
  }
  if (calls(command, scripts::kGuard)) {
    if (lie && input_.below(4) == 3) {
      return late();
    }
    return "*3\r\n:" + std::to_string(lie ? input_.integer() : 1) + "\r\n" + bulk(number(1, lie)) +
           (lie ? other_type() : "+OK\r\n");
  }
  if (verb == "EVAL" || verb == "EVALSHA") {
    return bulk(packed_answer(command, lie));
  }
  return "+OK\r\n";
}

std::string HostileServer::message(const std::string& record) {
  const auto ts = static_cast<double>(time_);
  const bool lie = input_.flag();
  std::string text(1, static_cast<char>(input_.below(8)));
  text.push_back(static_cast<char>(lie ? input_.below(5) : 1 + input_.below(3)));
  const auto epoch = static_cast<std::int64_t>(input_.below(8));
  text += packed(lie ? input_.real() : static_cast<double>(epoch)) + number(ts, lie);
  if (text[0] == 1) {
    text += number(ts, lie) + number(ts + 8, lie) + number(200'000, lie);
    text.push_back(static_cast<char>(input_.below(3)));
  } else if (text[0] == 2) {
    text += number(1000, lie);
  } else if (text[0] == 4) {
    const auto size = static_cast<std::uint16_t>(lie ? input_.byte() : record.size());
    text.push_back(static_cast<char>(size & 0xFFU));
    text.push_back(static_cast<char>(size >> 8U));
    text += record;
    text += input_.bytes();
    return text;
  } else if (text[0] == 6) {
    text += number(1, lie);
    text.push_back(static_cast<char>(1 + input_.below(lie ? 4 : 2)));
  }
  if (text[0] == 1 || text[0] == 6) {
    text +=
        lie && input_.flag() ? std::string(kMacSize, '0') : mac_of(client_, epoch, text + record);
  }
  return text + record;
}

// Of a name that is longer than any of ours, mostly.
std::string HostileServer::long_record() {
  return "belay:r:{" + std::string(input_.any_of<std::size_t>({1024, 1025, 8000, 2U << 20U}), 'n') +
         "}";
}

std::string HostileServer::push(const std::vector<std::string>& records) {
  const std::string& record = records[input_.below(records.size())];
  switch (input_.below(5)) {
    case 0:
      return ">2\r\n" + bulk("invalidate") + (input_.flag() ? "_\r\n" : bulks({record, record}));
    case 1: {
      const auto* kind = input_.any_of<const char*>({"subscribe", "unsubscribe", "pmessage", ""});
      return ">3\r\n" + bulk(kind) + bulk(inbox_) + ":0\r\n";
    }
    case 2:
      return ">1\r\n" + other_type();
    default:
      return ">3\r\n" + bulk("message") + bulk(inbox_) +
             bulk(message(input_.below(16) == 15 ? long_record() : record));
  }
}

std::string HostileServer::stray() {
  return input_.any_of<const char*>({"-ERR unknown command 'belay', with args beginning with: \r\n",
                                     "+OK\r\n", ":1\r\n", "_\r\n", "$4\r\nmark\r\n", "*0\r\n",
                                     "*2\r\n:1\r\n:1\r\n"});
}

std::string HostileServer::error() {
  std::string line(input_.any_of<std::string_view>(
      {"ERR", "NOSCRIPT", "LOADING", "BUSY", "READONLY", "NOAUTH", "NOPERM", "WRONGTYPE",
       "BELAYTYPE", "OOM", "MOVED 1 h:1", "\x1b[31m", "NOPROTO", "", " ",
       "ERR unknown command 'x' 'AUTH' 'default' 'SECRET-password'"}));
  std::string words(input_.bytes());
  std::erase_if(words, [](char byte) { return byte == '\r' || byte == '\n'; });
  return "-" + line + " " + words + "\r\n";
}

std::string HostileServer::other_type() {
  if (input_.below(16) == 15) {
    return nested();
  }
  if (input_.below(4) == 3) {
    return ":" + std::to_string(input_.integer()) + "\r\n";
  }
  return input_.any_of<const char*>({"_\r\n",
                                     "*0\r\n",
                                     "*-1\r\n",
                                     "$-1\r\n",
                                     ",nan\r\n",
                                     ",1e999\r\n",
                                     "#t\r\n",
                                     "(12345678901234567890123\r\n",
                                     "=5\r\ntxt:a\r\n",
                                     "~1\r\n+a\r\n",
                                     "%1\r\n+a\r\n+b\r\n",
                                     "|1\r\n+a\r\n+b\r\n",
                                     "*2\r\n*0\r\n_\r\n",
                                     "*3\r\n_\r\n_\r\n_\r\n",
                                     "+\x1b]0;x\r\n",
                                     "!3\r\nabc\r\n",
                                     "*20000\r\n",
                                     "*20001\r\n",
                                     "%9223372036854775807\r\n",
                                     "$536870912\r\n",
                                     "$9999999999999\r\n",
                                     ">0\r\n"});
}

// Deep enough to overflow a stack where somebody follows it by recursion.
std::string HostileServer::nested() {
  std::string bytes;
  for (int depth = 0; depth < 100'000; ++depth) {
    bytes += "*1\r\n";
  }
  return bytes + ":1\r\n";
}

}  // namespace belay::fuzz
