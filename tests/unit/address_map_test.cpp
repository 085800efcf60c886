// Maps from the addresses that servers announce to those at which they are reached.
#include "base/address_map.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace belay {
namespace {

std::string reached(const AddressMap& map, const std::string& host, std::uint16_t port) {
  return map.reachable({host, port, "", false}).display();
}

TEST(AddressMapTest, LeadsToWhereAServerIsReached) {
  const AddressMap map("10.0.0.1:6379=localhost:7001,[::1]:6379=[fe80::1]:7002,Db-2:1=db:2");
  EXPECT_EQ(reached(map, "10.0.0.1", 6379), "localhost:7001");
  EXPECT_EQ(reached(map, "::1", 6379), "[fe80::1]:7002");
  EXPECT_EQ(reached(map, "dB-2", 1), "db:2");
  EXPECT_EQ(reached(map, "10.0.0.1", 6380), "10.0.0.1:6380");
  EXPECT_EQ(reached(map, "localhost", 7001), "localhost:7001");
  EXPECT_EQ(reached(AddressMap(""), "h", 1), "h:1");
}

TEST(AddressMapTest, KeepsWhetherItIsTls) {
  EXPECT_TRUE(AddressMap("a:1=b:2").reachable({"a", 1, "", true}).tls);
}

TEST(AddressMapTest, SaysWhatIsWrong) {
  const std::string port = "the port is not a number in 1..65535";
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"a:1", "'a:1' is not announced=reachable"},
           {"a:1=b:2,", "'' is not announced=reachable"},
           {",a:1=b:2", "'' is not announced=reachable"},
           {"a=b:2", "'a=b:2': an address is host:port"},
           {"a:1=b", "'a:1=b': an address is host:port"},
           {"=", "'=': an address is host:port"},
           {"a:1=:2", "'a:1=:2': an address is host:port"},
           {"a:0=b:2", "'a:0=b:2': " + port},
           {"a:1=b:65536", "'a:1=b:65536': " + port},
           {"::1:6379=b:2", "'::1:6379=b:2': " + port},
           {"[::1:6379=b:2", "'[::1:6379=b:2': the bracket of the IPv6 address is not closed"},
           {"a:1=b c:2", "'a:1=b c:2': the host has a space"},
           {"a:1=b:2,x:1=b:2,A:1=c:3", "'A:1=c:3': that address was there before"}}) {
    const std::string flaw = AddressMap::flaw(text);
    EXPECT_EQ(flaw.substr(0, what.size()), what);
  }
  EXPECT_EQ(AddressMap::flaw(""), "");
  EXPECT_EQ(AddressMap::flaw("a:1=b:2,b:2=a:1"), "");
}

}  // namespace
}  // namespace belay
