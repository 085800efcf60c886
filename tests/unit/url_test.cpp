// URLs of servers, and that no password leaves them.
#include "base/url.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

ServerAddress good(std::string_view url) {
  Result<ServerAddress> server = parse_url(url);
  EXPECT_TRUE(server.ok()) << url << ": " << server.status.message;
  return server.value;
}

Status bad(std::string_view url) {
  Result<ServerAddress> server = parse_url(url);
  EXPECT_FALSE(server.ok()) << url;
  return server.status;
}

TEST(Url, TakesDefaultsForWhatIsMissing) {
  EXPECT_EQ(good("redis://").display(), "localhost:6379");
  EXPECT_EQ(good("redis://example").display(), "example:6379");
  EXPECT_EQ(good("redis://:7000").display(), "localhost:7000");
}

TEST(Url, ReadsEveryPart) {
  const ServerAddress server = good("redis://me:se%40cret@10.0.0.4:7000/3");
  EXPECT_EQ(server.user, "me");
  EXPECT_EQ(server.password, "se@cret");
  EXPECT_EQ(server.display(), "10.0.0.4:7000");
  EXPECT_EQ(server.database, 3);
}

TEST(Url, ReadsAPasswordWithoutUser) {
  const ServerAddress server = good("redis://:secret@host");
  EXPECT_EQ(server.user, "");
  EXPECT_EQ(server.password, "secret");
}

TEST(Url, TakesAPasswordWithAnUnescapedAt) {
  EXPECT_EQ(good("redis://u:a@b@host").password, "a@b");
}

TEST(Url, ReadsIpv6InBrackets) {
  EXPECT_EQ(good("redis://[::1]:7000").host, "::1");
  EXPECT_EQ(good("redis://[::1]").display(), "[::1]:6379");
}

TEST(Url, ReadsUnixSockets) {
  const ServerAddress server = good("unix://:pw@/run/redis%20a.sock?db=2");
  EXPECT_EQ(server.path, "/run/redis a.sock");
  EXPECT_EQ(server.password, "pw");
  EXPECT_EQ(server.database, 2);
}

TEST(Url, NamesWhatIsWrong) {
  EXPECT_NE(bad("localhost").message.find("no scheme"), std::string::npos);
  EXPECT_NE(bad("redis://h:99999").message.find("99999"), std::string::npos);
  EXPECT_NE(bad("redis://h:").message.find("port ''"), std::string::npos);
  EXPECT_NE(bad("redis://::1").message.find("brackets"), std::string::npos);
  EXPECT_NE(bad("redis://[::1").message.find("not closed"), std::string::npos);
  EXPECT_NE(bad("redis://h/x").message.find("'x'"), std::string::npos);
  EXPECT_NE(bad("redis://h/1/2").message.find("'1/2'"), std::string::npos);
  EXPECT_NE(bad("redis://h?fast=1").message.find("'fast'"), std::string::npos);
  EXPECT_NE(bad("redis://u%zz@h").message.find("escape"), std::string::npos);
  EXPECT_NE(bad("unix://relative").message.find("absolute"), std::string::npos);
  EXPECT_NE(bad("unix:///s?db=-1").message.find("'-1'"), std::string::npos);
}

TEST(Url, RefusesWhatIsNotSupportedYetByItsName) {
  EXPECT_EQ(bad("rediss://h").code, BELAY_UNSUPPORTED_URL);
  EXPECT_NE(bad("rediss://h").message.find("'rediss'"), std::string::npos);
  EXPECT_EQ(bad("http://h").code, BELAY_UNSUPPORTED_URL);
  EXPECT_EQ(bad("redis://a:1,b:2").code, BELAY_UNSUPPORTED_URL);
}

TEST(Url, HidesTheUserinfoInEveryMessage) {
  for (const char* url :
       {"redis://me:secret@h:0", "rediss://me:secret@h", "unix://me:secret@x",
        "redis://me:sec?ret@h:0", "unix://me:sec?ret@/x", "unix://me:sec?db=ret@/x",
        "me:secret@redis://h", "me:secret@h", "me@sec://ret@h"}) {
    EXPECT_EQ(bad(url).message.find("sec"), std::string::npos) << bad(url).message;
    EXPECT_EQ(bad(url).message.find("ret"), std::string::npos) << bad(url).message;
  }
}

}  // namespace
}  // namespace belay
