// TLS from bytes to bytes, with OpenSSL itself as the server: what no server of the integration
// tests does when it is told to, such as new keys in the middle of everything.
#include "net/tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace belay {
namespace {

// A folder with certificates, until the process ends.
const std::string& certificates() {
  static const struct Folder {
    Folder() {
      EXPECT_NE(mkdtemp(path.data()), nullptr);
      EXPECT_EQ(std::system((std::string(BELAY_CERTIFICATES) + " " + path).c_str()), 0);
    }

    ~Folder() { std::filesystem::remove_all(path); }

    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string path = "/tmp/belay-unit-XXXXXX";
  } folder;

  return folder.path;
}

// The other side, which answers what it was sent by the same.
class EchoServer {
 public:
  explicit EchoServer(int version = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_server_method())), ssl_(nullptr) {
    SSL_CTX_set_max_proto_version(context_, version);
    const std::string base = certificates() + "/server";
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_, (base + ".pem").c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, (base + ".key").c_str(), SSL_FILETYPE_PEM), 1);
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_);
  }

  ~EchoServer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  SSL* ssl() { return ssl_; }

  // Takes what a client sent and gives what to send to it.
  std::string answer(std::string_view sealed) {
    BIO_write(SSL_get_rbio(ssl_), sealed.data(), static_cast<int>(sealed.size()));
    std::string bytes(20000, 0);
    std::size_t size = 0;
    while (SSL_read_ex(ssl_, bytes.data(), bytes.size(), &size) == 1) {
      std::size_t written = 0;
      EXPECT_EQ(SSL_write_ex(ssl_, bytes.data(), size, &written), 1);
    }
    return output();
  }

  std::string output() {
    BIO* bio = SSL_get_wbio(ssl_);
    std::string bytes(BIO_ctrl_pending(bio), 0);
    if (!bytes.empty()) {
      BIO_read(bio, bytes.data(), static_cast<int>(bytes.size()));
    }
    return bytes;
  }

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

std::unique_ptr<Tls> new_client() {
  Config config;
  config.tls_ca_file = certificates() + "/ca.pem";
  Endpoint endpoint;
  endpoint.tls = true;
  Result<std::unique_ptr<Tls>> tls = Tls::create(config, endpoint);
  EXPECT_TRUE(tls.ok()) << tls.status.message;
  return std::move(tls.value);
}

std::string sealed(Tls& client, std::string_view bytes) {
  WipingString text(bytes);
  EXPECT_TRUE(client.seal(&text));
  return std::string(text);
}

std::string opened(Tls& client, std::string_view bytes) {
  client.feed(bytes);
  std::string all;
  for (std::string_view some = client.open(); !some.empty(); some = client.open()) {
    all += some;
  }
  return all;
}

// Until both sides are done.
void shake_hands(Tls& client, EchoServer& server) {
  bool done = client.shake();
  for (int i = 0; i < 10 && (!done || client.has_output()); ++i) {
    client.feed(server.answer(sealed(client, {})));
    done = client.shake() || done;
  }
  ASSERT_TRUE(done) << client.trouble().message;
  EXPECT_FALSE(client.is_shaking());
}

TEST(Tls, BringsBytesThereAndBack) {
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  const std::string secret(70000, 's');
  const std::string sent = sealed(*client, secret);
  EXPECT_EQ(sent.find("ssss"), std::string::npos);
  EXPECT_EQ(opened(*client, server.answer(sent)), secret);
  EXPECT_EQ(opened(*client, {}), "");
}

TEST(Tls, TakesBytesOneByOne) {
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  std::string all;
  for (const char byte : server.answer(sealed(*client, "hello"))) {
    all += opened(*client, {&byte, 1});
  }
  EXPECT_EQ(all, "hello");
}

// The server's bytes may come in the same read as the end of its handshake.
TEST(Tls, OpensWhatCameWithTheHandshake) {
  EchoServer server(TLS1_2_VERSION);
  const auto client = new_client();
  EXPECT_FALSE(client->shake());
  client->feed(server.answer(sealed(*client, {})));
  EXPECT_FALSE(client->shake());
  const std::string last = server.answer(sealed(*client, {}));
  std::size_t written = 0;
  ASSERT_EQ(SSL_write_ex(server.ssl(), "early", 5, &written), 1);
  client->feed(last + server.output());
  EXPECT_TRUE(client->shake());
  EXPECT_EQ(opened(*client, {}), "early");
}

// What a change of keys has to say goes out with the next bytes, in the order of sealing.
TEST(Tls, FollowsChangesOfKeys) {
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(SSL_key_update(server.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    const std::string early = sealed(*client, "early");
    EXPECT_EQ(opened(*client, server.answer(early)), "early");
    EXPECT_EQ(opened(*client, server.answer(sealed(*client, "late"))), "late");
  }
  EXPECT_TRUE(client->trouble().ok());
}

TEST(Tls, RefusesToShakeHandsAnew) {
  EchoServer server(TLS1_2_VERSION);
  const auto client = new_client();
  shake_hands(*client, server);
  SSL_renegotiate(server.ssl());
  SSL_do_handshake(server.ssl());
  EXPECT_EQ(opened(*client, server.output()), "");
  EXPECT_FALSE(client->is_shaking());
  EXPECT_TRUE(client->has_output() || client->has_ended());
}

TEST(Tls, SaysWhatIsNoTls) {
  const auto client = new_client();
  client->shake();
  EXPECT_EQ(opened(*client, "-ERR unknown command\r\n"), "");
  EXPECT_TRUE(client->has_ended());
  EXPECT_EQ(client->trouble().code, BELAY_UNSUPPORTED_SERVER);
  EXPECT_NE(client->trouble().message.find("localhost:6379 speaks no TLS"), std::string::npos);
  WipingString bytes("more");
  EXPECT_FALSE(client->seal(&bytes));
}

TEST(Tls, EndsWhereTheServerSaysGoodbye) {
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  SSL_shutdown(server.ssl());
  EXPECT_EQ(opened(*client, server.output()), "");
  EXPECT_TRUE(client->has_ended());
  EXPECT_TRUE(client->trouble().ok());
}

TEST(Tls, EndsAtBytesThatWereChanged) {
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  std::string answer = server.answer(sealed(*client, "hello"));
  answer.back() = static_cast<char>(answer.back() ^ 1);
  EXPECT_EQ(opened(*client, answer), "");
  EXPECT_TRUE(client->has_ended());
  EXPECT_EQ(client->trouble().code, BELAY_UNAVAILABLE);
}

// As the link does it: one thread opens, another seals, and the server changes keys meanwhile.
TEST(Tls, OpensAndSealsInTwoThreads) {
  constexpr int kMessages = 2000;
  EchoServer server;
  const auto client = new_client();
  shake_hands(*client, server);
  Mutex mutex;
  std::string to_server;  // guarded by it, as is the next
  std::string to_client;
  std::thread writer([&] {
    for (int i = 0; i < kMessages; ++i) {
      const std::string bytes = sealed(*client, std::to_string(i) + ";");
      const MutexLock lock(mutex);
      to_server += bytes;
    }
  });
  std::atomic<bool> done{false};
  std::thread network([&] {
    for (int i = 0; !done; ++i) {
      std::string bytes;
      {
        const MutexLock lock(mutex);
        bytes.swap(to_server);
      }
      if (i % 50 == 0) {
        SSL_key_update(server.ssl(), SSL_KEY_UPDATE_REQUESTED);
      }
      const std::string answer = server.answer(bytes);
      const MutexLock lock(mutex);
      to_client += answer;
    }
  });
  std::string all;
  while (!all.ends_with(";" + std::to_string(kMessages - 1) + ";") && !client->has_ended()) {
    std::string bytes;
    {
      const MutexLock lock(mutex);
      bytes.swap(to_client);
    }
    all += opened(*client, bytes);
  }
  done = true;
  writer.join();
  network.join();
  std::string expected;
  for (int i = 0; i < kMessages; ++i) {
    expected += std::to_string(i) + ";";
  }
  EXPECT_EQ(all, expected) << client->trouble().message;
}

}  // namespace
}  // namespace belay
