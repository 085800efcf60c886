// TLS of one connection, from bytes to bytes: seals what goes to the server and opens what comes
// from it. It has no socket and never waits. One thread at a time opens, and one seals, which may
// be two threads: a lock of its own guards what they share. What it has to say by itself joins what
// is sealed next, so the order on the wire is that of sealing.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/endpoint.h"
#include "base/mutex.h"
#include "base/secret.h"
#include "base/status.h"

struct ssl_st;

namespace belay {

// What is said of a port that is of the other kind, behind its name.
inline constexpr const char* kSpeaksNoTls =
    " speaks no TLS: its URL begins with redis://, redis-sentinel:// or redis-cluster://";
inline constexpr const char* kSpeaksTls =
    " speaks TLS: its URL begins with rediss://, rediss-sentinel:// or rediss-cluster://";

class Tls {
 public:
  // Whether a server's first byte may be one of TLS: of a handshake or an alert.
  static bool may_begin(char byte) { return byte == 0x16 || byte == 0x15; }

  // Of a connection to `server`, which has to prove its name. Reads the files that the options
  // name; INVALID_ARGUMENT says what is wrong with one, UNAVAILABLE why nobody could see now.
  static Result<std::unique_ptr<Tls>> create(const Config& config, const Endpoint& server);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Takes what came from the server.
  void feed(std::string_view bytes);
  // Goes on with the handshake. True once: both sides have proved who they are, as far as asked.
  bool shake();
  // What the server said, a record at a time, until the next call; "": there is no more.
  std::string_view open();

  // Replaces bytes by what to send in their place; also without any, if there is output. False: the
  // connection is of no use any more.
  bool seal(WipingString* bytes);
  // Something is to be sent without anybody's bytes.
  bool has_output();

  bool is_shaking();
  // Either side has ended it: nothing is opened any more.
  bool has_ended();
  // Why it failed; OK if it did not.
  Status trouble();

 private:
  Tls(const Config& config, const Endpoint& server);

  // What a call of OpenSSL's that did not succeed means for the connection.
  void judge(int result) REQUIRES(mutex_);
  Status explain(int reason) const REQUIRES(mutex_);
  Status explain_certificate() const REQUIRES(mutex_);
  Status explain_refusal(int reason) const REQUIRES(mutex_);
  void take_output(WipingString* sealed) REQUIRES(mutex_);

  const std::string server_;  // for messages
  const std::string name_;    // that the server has to prove
  const bool has_certificate_;
  Mutex mutex_;
  ssl_st* ssl_ PT_GUARDED_BY(mutex_) = nullptr;
  bool heard_ GUARDED_BY(mutex_) = false;
  bool certificate_wanted_ GUARDED_BY(mutex_) = false;  // and we have none
  bool shaking_ GUARDED_BY(mutex_) = true;
  bool ended_ GUARDED_BY(mutex_) = false;
  Status trouble_ GUARDED_BY(mutex_);
  std::array<char, 16384> opened_{};  // of whoever opens: a record, which has no more
};

}  // namespace belay
