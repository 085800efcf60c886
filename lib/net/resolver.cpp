#include "net/resolver.h"

#include <netdb.h>
#include <pthread.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "net/loop.h"

namespace belay {

namespace {

struct Lookup {
  std::string host;
  std::uint16_t port = 0;
  std::function<void(std::vector<SocketAddress>, std::string)> done;
};

std::vector<SocketAddress> look_up(const std::string& host, std::uint16_t port, int flags,
                                   std::string* why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  std::vector<SocketAddress> addresses;
  if (error != 0) {
    *why = gai_strerror(error);
    return addresses;
  }
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

void* run_lookup(void* argument) {
  const std::unique_ptr<Lookup> lookup(static_cast<Lookup*>(argument));
  std::string why;
  std::vector<SocketAddress> addresses = look_up(lookup->host, lookup->port, 0, &why);
  lookup->done(std::move(addresses), why);
  return nullptr;
}

}  // namespace

std::vector<SocketAddress> literal_address(const std::string& host, std::uint16_t port) {
  std::string why;
  return look_up(host, port, AI_NUMERICHOST, &why);
}

void resolve(const std::string& host, std::uint16_t port,
             std::function<void(std::vector<SocketAddress>, std::string)> done) {
  auto lookup = std::make_unique<Lookup>(Lookup{host, port, std::move(done)});
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kThreadStack);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, run_lookup, lookup.get());
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    lookup->done({}, "no thread could be started to resolve it");
    return;
  }
  pthread_detach(thread);
  static_cast<void>(lookup.release());  // run_lookup frees it
}

}  // namespace belay
