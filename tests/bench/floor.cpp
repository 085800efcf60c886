#include "floor.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "server.h"

namespace belay::bench {

namespace {

constexpr std::string_view kLeaseMs = "30000";
constexpr std::size_t kIdSize = 22;
constexpr std::uint32_t kSlots = 16384;

constexpr std::string_view kBareAcquire =
    "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])";
constexpr std::string_view kBareRelease = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0)";
constexpr std::string_view kFencedAcquire = R"(
if redis.call('GET', KEYS[1]) then
  return ''
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('GET', KEYS[2])
local fence = now
if stored then
  fence = math.max(struct.unpack('<d', stored) + 1, now)
end
redis.call('SET', KEYS[2], struct.pack('<d', fence))
redis.call('SET', KEYS[1], ARGV[1] .. struct.pack('<dd', fence, now + ARGV[2] * 1000), 'PX', ARGV[2])
return struct.pack('<dd', fence, now))";
constexpr std::string_view kFencedRelease = R"(
local record = redis.call('GET', KEYS[1])
if record and record:sub(1, 30) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0)";

redisContext* connect(int port) {
  redisContext* context = redisConnect("127.0.0.1", port);
  if (context == nullptr || context->err != 0) {
    give_up("a floor could not connect");
  }
  return context;
}

// The next reply, which is not an error.
redisReply* take_reply(redisContext* context) {
  void* reply = nullptr;
  if (redisGetReply(context, &reply) != REDIS_OK) {
    give_up(std::string("a floor's connection broke: ") + context->errstr);
  }
  auto* answer = static_cast<redisReply*>(reply);
  if (answer->type == REDIS_REPLY_ERROR) {
    give_up(std::string("a floor was refused: ") + answer->str);
  }
  return answer;
}

std::string random_id() {
  static constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  std::random_device random;
  std::string id;
  while (id.size() < kIdSize) {
    id.push_back(kDigits[random() % kDigits.size()]);
  }
  return id;
}

// Any even spread over as many fence keys as a cluster has slots does here (FNV-1a).
std::uint32_t slot_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : name) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
  }
  return hash % kSlots;
}

}  // namespace

Floor::Floor(int port, Recipe recipe)
    : context_(connect(port)),
      recipe_(recipe),
      acquire_sha1_(load(recipe == Recipe::kBare ? kBareAcquire : kFencedAcquire)),
      release_sha1_(load(recipe == Recipe::kBare ? kBareRelease : kFencedRelease)),
      id_(random_id()) {}

Floor::~Floor() {
  redisFree(context_);
}

void Floor::ping() {
  redisAppendCommand(context_, "PING");
  freeReplyObject(take_reply(context_));
}

std::string Floor::load(std::string_view script) {
  redisAppendCommand(context_, "SCRIPT LOAD %b", script.data(), script.size());
  redisReply* reply = take_reply(context_);
  std::string sha1(reply->str, reply->len);
  freeReplyObject(reply);
  return sha1;
}

Floor::Claim Floor::new_claim() {
  Claim claim{};
  const auto epoch = static_cast<double>(++epoch_);
  id_.copy(claim.data(), kIdSize);
  std::memcpy(claim.data() + kIdSize, &epoch, sizeof epoch);
  return claim;
}

void Floor::append(const std::string& sha1, std::string_view name, const Claim& claim,
                   bool with_lease) {
  const bool fenced = recipe_ == Recipe::kFenced;
  const std::string record = (fenced ? "fenced:r:" : "bare:r:") + std::string(name);
  const bool with_fence = fenced && with_lease;
  const std::string fence = with_fence ? "fenced:f:" + std::to_string(slot_of(name)) : "";
  std::array<const char*, 7> argv{"EVALSHA", sha1.data(), with_fence ? "2" : "1", record.data()};
  std::array<std::size_t, 7> sizes{7, sha1.size(), 1, record.size()};
  std::size_t count = 4;
  const auto add = [&](std::string_view part) {
    argv[count] = part.data();
    sizes[count] = part.size();
    ++count;
  };
  if (with_fence) {
    add(fence);
  }
  add({claim.data(), claim.size()});
  if (with_lease) {
    add(kLeaseMs);
  }
  redisAppendCommandArgv(context_, static_cast<int>(count), argv.data(), sizes.data());
}

Floor::Claim Floor::append_acquire(std::string_view name) {
  const Claim claim = new_claim();
  append(acquire_sha1_, name, claim, true);
  return claim;
}

void Floor::append_release(std::string_view name, const Claim& claim) {
  append(release_sha1_, name, claim, false);
}

void Floor::expect_granted() {
  redisReply* reply = take_reply(context_);
  const bool bare = recipe_ == Recipe::kBare;
  if (bare ? reply->type != REDIS_REPLY_STATUS : reply->len != 2 * sizeof(double)) {
    give_up("a floor's lock was taken already");
  }
  if (!bare) {
    double fence = 0;
    std::memcpy(&fence, reply->str, sizeof fence);
    fence_ = std::max(fence_, static_cast<std::int64_t>(fence));
  }
  freeReplyObject(reply);
}

void Floor::expect_released() {
  redisReply* reply = take_reply(context_);
  if (reply->integer != 1) {
    give_up("a floor's lock had been lost");
  }
  freeReplyObject(reply);
}

Floor::Claim Floor::acquire(std::string_view name) {
  const Claim claim = append_acquire(name);
  expect_granted();
  return claim;
}

void Floor::release(std::string_view name, const Claim& claim) {
  append_release(name, claim);
  expect_released();
}

Plain::Plain(int port) : context_(connect(port)) {}

Plain::~Plain() {
  redisFree(context_);
}

void Plain::command(const std::vector<std::string>& argv) {
  std::vector<const char*> parts;
  std::vector<std::size_t> sizes;
  for (const std::string& part : argv) {
    parts.push_back(part.data());
    sizes.push_back(part.size());
  }
  redisAppendCommandArgv(context_, static_cast<int>(argv.size()), parts.data(), sizes.data());
  freeReplyObject(take_reply(context_));
}

}  // namespace belay::bench
