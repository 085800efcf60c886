#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

namespace belay {

namespace {

constexpr std::size_t kRecord = 16384;       // the most that one has
constexpr std::size_t kRecordOverhead = 64;  // at most, of its head and seal
// Where systems keep their CAs, beside where this OpenSSL was built to look: the library may have
// come from another system, in a jar.
constexpr std::array<const char*, 4> kUsualStores{"/etc/ssl/certs/ca-certificates.crt",
                                                  "/etc/pki/tls/certs/ca-bundle.crt",
                                                  "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

using Context = std::unique_ptr<SSL_CTX, FreeContext>;

// Nothing of the library's is cleaned up at the process's end, as our threads may still use it.
bool start_openssl() {
  static const bool kStarted =
      OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr) == 1;
  return kStarted;
}

// What OpenSSL says first; its queue of errors is the thread's, and empty afterwards.
int take_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  return ERR_GET_REASON(error);
}

std::string words_of(int reason) {
  const char* words = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
  return words == nullptr ? "reason " + std::to_string(reason) : words;
}

// The system has too little of something just now.
bool may_pass(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
}

Status unreadable(const char* option, const std::string& path, int error) {
  return {may_pass(error) ? BELAY_UNAVAILABLE : BELAY_INVALID_ARGUMENT,
          std::string(option) + " '" + path +
              "' could not be read: " + std::system_category().message(error)};
}

// Of a file that OpenSSL could not use, unless it could not even read it.
Status wrong_file(const char* option, const std::string& path, const std::string& what) {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(error)) {
    return unreadable(option, path, ERR_GET_REASON(error));
  }
  return {BELAY_INVALID_ARGUMENT, std::string(option) + " '" + path + "' " + what};
}

// OK for a path that can be opened without waiting.
Status check_file(const char* option, const std::string& path, bool directory) {
  struct stat about {};

  const bool there = stat(path.c_str(), &about) == 0;
  if (there && !(directory ? S_ISDIR(about.st_mode) : S_ISREG(about.st_mode))) {
    return wrong_file(option, path, directory ? "is not a directory" : "is not a regular file");
  }
  if (!there || access(path.c_str(), directory ? R_OK | X_OK : R_OK) != 0) {
    return unreadable(option, path, errno);
  }
  return {};
}

Status take_authorities(const Config& config, SSL_CTX* context) {
  const std::string& file = config.tls_ca_file;
  const std::string& directory = config.tls_ca_dir;
  if (!file.empty()) {
    if (Status status = check_file("tls_ca_file", file, false); !status.ok()) {
      return status;
    }
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
      return wrong_file("tls_ca_file", file, "has no certificate in PEM format");
    }
  }
  if (!directory.empty()) {
    if (Status status = check_file("tls_ca_dir", directory, true); !status.ok()) {
      return status;
    }
    SSL_CTX_load_verify_dir(context, directory.c_str());
  }
  if (file.empty() && directory.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    const bool found = access(X509_get_default_cert_file(), R_OK) == 0;
    const auto* usual = std::find_if(kUsualStores.begin(), kUsualStores.end(),
                                     [](const char* path) { return access(path, R_OK) == 0; });
    if (!found && usual != kUsualStores.end()) {
      SSL_CTX_load_verify_file(context, *usual);
    }
  }
  return {};
}

Status take_certificate(const Config& config, SSL_CTX* context) {
  const std::string& file = config.tls_cert_file;
  if (file.empty()) {
    return config.tls_key_file.empty() ? Status()
                                       : wrong_file("tls_key_file", config.tls_key_file,
                                                    "is of no use without tls_cert_file");
  }
  const std::string& key = config.tls_key_file.empty() ? file : config.tls_key_file;
  if (Status status = check_file("tls_cert_file", file, false); !status.ok()) {
    return status;
  }
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) {
    return wrong_file("tls_cert_file", file, "has no certificate in PEM format that can be used");
  }
  if (Status status = check_file("tls_key_file", key, false); !status.ok()) {
    return status;
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool differs = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    return wrong_file("tls_key_file", key,
                      differs ? "has another key than the certificate's"
                              : "has no key in PEM format without a passphrase");
  }
  return {};
}

Result<Context> make_context(const Config& config) {
  ERR_clear_error();
  Context context(start_openssl() ? SSL_CTX_new(TLS_client_method()) : nullptr);
  if (context == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, "OpenSSL could not be used: " + words_of(take_error()));
  }
  // The system's own configuration may be stricter.
  const int least = config.tls_min_version == kTls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
  const auto usual = static_cast<int>(SSL_CTX_get_min_proto_version(context.get()));
  SSL_CTX_set_min_proto_version(context.get(), std::max(least, usual));
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_client_cert_cb(context.get(), [](SSL* ssl, X509**, EVP_PKEY**) {
    *static_cast<bool*>(SSL_get_app_data(ssl)) = true;
    return 0;
  });
  // Nobody is asked for a passphrase on a terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  Status status = take_authorities(config, context.get());
  if (status.ok()) {
    status = take_certificate(config, context.get());
  }
  if (!status.ok()) {
    return status;
  }
  return context;
}

// An address is looked for among the certificate's addresses, and no server is asked by one. A name
// is looked for among its alternative names alone (RFC 9525).
bool demand_name(SSL* ssl, const std::string& name) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1) {
    return true;
  }
  // OpenSSL takes what begins with a dot for every name that ends so.
  if (name.starts_with('.') || name.find('*') != std::string::npos) {
    return false;
  }
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

std::string name_of(const Config& config, const Endpoint& server) {
  std::string name = config.tls_server_name.empty() ? server.host : config.tls_server_name;
  if (name.size() > 1 && name.ends_with('.')) {
    name.pop_back();  // of the root, which no certificate has
  }
  return name;
}

}  // namespace

Result<std::unique_ptr<Tls>> Tls::create(const Config& config, const Endpoint& server) {
  Result<Context> context = make_context(config);
  if (!context.ok()) {
    return context.status;
  }
  std::unique_ptr<Tls> tls(new Tls(config, server));
  const MutexLock lock(tls->mutex_);
  tls->ssl_ = SSL_new(context.value.get());
  if (tls->ssl_ == nullptr || !demand_name(tls->ssl_, tls->name_)) {
    ERR_clear_error();
    return Status(BELAY_INVALID_ARGUMENT, "'" + tls->name_ + "' cannot be a server's name");
  }
  SSL_set_bio(tls->ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_app_data(tls->ssl_, &tls->certificate_wanted_);
  SSL_set_connect_state(tls->ssl_);
  return tls;
}

Tls::Tls(const Config& config, const Endpoint& server)
    : server_(server.display()),
      name_(name_of(config, server)),
      has_certificate_(!config.tls_cert_file.empty()) {}

Tls::~Tls() {
  SSL_free(ssl_);
}

void Tls::feed(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (ended_ || bytes.empty()) {
    return;
  }
  if (!std::exchange(heard_, true) && !may_begin(bytes.front())) {
    ended_ = true;
    trouble_ = {BELAY_UNSUPPORTED_SERVER, server_ + kSpeaksNoTls};
    return;
  }
  BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
}

bool Tls::shake() {
  const MutexLock lock(mutex_);
  if (!shaking_ || ended_) {
    return false;
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) {
    judge(result);
    return false;
  }
  shaking_ = false;
  return true;
}

std::string_view Tls::open() {
  const MutexLock lock(mutex_);
  if (shaking_ || ended_) {
    return {};
  }
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_read_ex(ssl_, opened_.data(), opened_.size(), &size);
  if (result != 1) {
    judge(result);
    return {};
  }
  return {opened_.data(), size};
}

// The lock is let go between two records: somebody else may be opening.
bool Tls::seal(WipingString* bytes) {
  WipingString sealed;
  sealed.reserve(bytes->size() + (bytes->size() / kRecord + 1) * kRecordOverhead);
  for (std::size_t from = 0; from < bytes->size(); from += kRecord) {
    const MutexLock lock(mutex_);
    if (ended_) {
      break;
    }
    ERR_clear_error();
    std::size_t written = 0;
    const int result =
        SSL_write_ex(ssl_, bytes->data() + from, std::min(kRecord, bytes->size() - from), &written);
    if (result != 1) {
      judge(result);
      ended_ = true;  // these bytes will not be sent, so no others may be
    }
    take_output(&sealed);
  }
  const MutexLock lock(mutex_);
  take_output(&sealed);
  bytes->swap(sealed);
  return !ended_;
}

void Tls::take_output(WipingString* sealed) {
  BIO* output = SSL_get_wbio(ssl_);
  const std::size_t size = sealed->size();
  sealed->resize(size + BIO_ctrl_pending(output));
  if (sealed->size() > size) {
    BIO_read(output, sealed->data() + size, static_cast<int>(sealed->size() - size));
  }
}

bool Tls::has_output() {
  const MutexLock lock(mutex_);
  return BIO_ctrl_pending(SSL_get_wbio(ssl_)) > 0;
}

bool Tls::is_shaking() {
  const MutexLock lock(mutex_);
  return shaking_;
}

bool Tls::has_ended() {
  const MutexLock lock(mutex_);
  return ended_;
}

Status Tls::trouble() {
  const MutexLock lock(mutex_);
  return trouble_;
}

void Tls::judge(int result) {
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ) {
    return;
  }
  ended_ = true;
  if (error != SSL_ERROR_ZERO_RETURN) {
    trouble_ = explain(take_error());
  }
}

// Who has to change something, where that is known; anything else may pass.
Status Tls::explain(int reason) const {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return explain_certificate();
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return {BELAY_UNSUPPORTED_SERVER,
              server_ + " and this client have no version of TLS in common (tls_min_version)"};
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return explain_refusal(reason);
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:  // before TLS 1.3, also of who has no certificate
      if (certificate_wanted_) {
        return explain_refusal(reason);
      }
      [[fallthrough]];
    default:
      return {BELAY_UNAVAILABLE, "TLS with " + server_ + " failed: " + words_of(reason)};
  }
}

// The server's, which was not believed.
Status Tls::explain_certificate() const {
  const long wrong = SSL_get_verify_result(ssl_);
  std::string what;
  switch (wrong) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      what = "has expired";
      break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      what = "is not valid yet";
      break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      what = "is not for '" + name_ + "' (tls_server_name)";
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      what = "is from no CA that this client trusts (tls_ca_file)";
      break;
    default:
      what = std::string("was refused: ") + X509_verify_cert_error_string(wrong);
  }
  return {BELAY_AUTH_FAILED, "the certificate of " + server_ + " " + what};
}

// Of our certificate, or of none.
Status Tls::explain_refusal(int reason) const {
  if (!has_certificate_) {
    return {BELAY_AUTH_FAILED,
            server_ + " demands a client certificate (tls_cert_file): " + words_of(reason)};
  }
  return {BELAY_AUTH_FAILED, server_ + " refused this client's certificate: " + words_of(reason)};
}

}  // namespace belay
