// URLs of servers, and that no password leaves them.
#include "base/url.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

std::string take_none(std::string_view /*name*/, const std::string& /*value*/) {
  return "it is not known";
}

ServerAddress good(std::string_view url) {
  Result<ServerAddress> server = parse_url(url, take_none);
  EXPECT_TRUE(server.ok()) << url << ": " << server.status.message;
  return server.value;
}

Status bad(std::string_view url) {
  Result<ServerAddress> server = parse_url(url, take_none);
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
  EXPECT_EQ(server.password.view(), "se@cret");
  EXPECT_EQ(server.display(), "10.0.0.4:7000");
  EXPECT_EQ(server.database, 3);
}

TEST(Url, ReadsAPasswordWithoutUser) {
  const ServerAddress server = good("redis://:secret@host");
  EXPECT_EQ(server.user, "");
  EXPECT_EQ(server.password.view(), "secret");
}

TEST(Url, TakesAPasswordWithAnUnescapedAt) {
  EXPECT_EQ(good("redis://u:a@b@host").password.view(), "a@b");
}

TEST(Url, ReadsIpv6InBrackets) {
  EXPECT_EQ(good("redis://[::1]:7000").host, "::1");
  EXPECT_EQ(good("redis://[::1]").display(), "[::1]:6379");
}

TEST(Url, ReadsUnixSockets) {
  const ServerAddress server = good("unix://:pw@/run/redis%20a.sock?db=2");
  EXPECT_EQ(server.path, "/run/redis a.sock");
  EXPECT_EQ(server.password.view(), "pw");
  EXPECT_EQ(server.database, 2);
}

TEST(Url, GivesParametersDecodedAndInOrder) {
  std::string seen;
  const auto take = [&seen](std::string_view name, const std::string& value) {
    seen += std::string(name) + " is " + value + ";";
    return "";
  };
  Result<ServerAddress> server = parse_url("redis://u:p@h:7000/3?a=1&b=x%26y%40z&c=", take);
  EXPECT_TRUE(server.ok()) << server.status.message;
  EXPECT_EQ(seen, "a is 1;b is x&y@z;c is ;");
  EXPECT_EQ(server.value.display(), "h:7000");
  EXPECT_EQ(server.value.database, 3);
  server = parse_url("unix:///s?a=2&db=4&", take);
  EXPECT_TRUE(server.ok()) << server.status.message;
  EXPECT_EQ(server.value.database, 4);
}

TEST(Url, NamesWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> kBad[] = {
      {"localhost", "URL, from byte 1: there is no scheme"},
      {"http://h", "URL http://***, from byte 1: the scheme is not supported; redis:// and unix"},
      {"rediss://h", "URL rediss://***, from byte 1: TLS is not supported yet"},
      {"redis://h:99999", "URL redis://***, from byte 10: the port is not a number"},
      {"redis://h:", "from byte 10: the port"},
      {"redis://::1", "brackets"},
      {"redis://[::1", "not closed"},
      {"redis://[::1]x", "from byte 14: only a port"},
      {"redis://h/x", "from byte 11: the database is not a number"},
      {"redis://u:p@h/1/2", "from byte 15: the database"},
      {"redis://h?fast=1", "from byte 11: it is not known"},
      {"redis://h?db=1", "from byte 11: it is not known"},
      {"redis://h?fast", "from byte 11: a parameter is NAME=VALUE"},
      {"redis://h?&fast=1", "from byte 11: a parameter is NAME=VALUE"},
      {"redis://h?fast=%zz", "from byte 11: a parameter has a bad % escape"},
      {"redis://u%zz@h", "from byte 9: the user or password has a bad % escape"},
      {"redis://h%zz", "from byte 9: the host has a bad % escape"},
      {"unix://relative", "absolute"},
      {"unix:///s?db=-1", "from byte 14: the database"},
      {"unix:///s?db=1&fast=1", "from byte 16: it is not known"}};
  for (const auto& [url, what] : kBad) {
    EXPECT_NE(bad(url).message.find(what), std::string::npos) << bad(url).message;
  }
}

TEST(Url, RefusesWhatIsNotSupportedYetByItsName) {
  EXPECT_EQ(bad("rediss://h").code, BELAY_UNSUPPORTED_URL);
  EXPECT_NE(bad("rediss://h").message.find("rediss://***"), std::string::npos);
  EXPECT_EQ(bad("http://h").code, BELAY_UNSUPPORTED_URL);
  EXPECT_EQ(bad("redis://a:1,b:2").code, BELAY_UNSUPPORTED_URL);
}

// Whatever part it was put into by mistake.
TEST(Url, QuotesNoTextInAMessage) {
  for (const char* url : {"redis://me:secret@h:0",
                          "rediss://me:secret@h",
                          "unix://me:secret@x",
                          "redis://me:sec?ret@h:0",
                          "unix://me:sec?ret@/x",
                          "unix://me:sec?db=ret@/x",
                          "me:secret@redis://h",
                          "me:secret@h",
                          "me@sec://ret@h",
                          "redis://app:secret",
                          "redis://h?password=secret",
                          "redis://h/secret",
                          "redis://h:1/secret",
                          "redis://[secret",
                          "redis://[::1]secret",
                          "redis://secret%zz",
                          "redis://h,secret",
                          "secret://h",
                          "secret",
                          "unix://secret",
                          "unix:///s?db=secret",
                          "unix:///s?secret"}) {
    EXPECT_EQ(bad(url).message.find("sec"), std::string::npos) << bad(url).message;
    EXPECT_EQ(bad(url).message.find("ret"), std::string::npos) << bad(url).message;
  }
}

TEST(Secret, IsMaskedInEveryForm) {
  EXPECT_EQ(masked("'AUTH' 'me' 'pass word'", "pass word"), "'AUTH' 'me' '***'");
  EXPECT_EQ(masked("redis://me:p%40s%3a@h", "p@s:"), "redis://me:***@h");
  EXPECT_EQ(masked("a+b a%20b a\\x20b", "a b"), "*** *** ***");
  EXPECT_EQ(masked("say \"p\\\"w\\n\"", "p\"w\n"), "say \"***\"");
  EXPECT_EQ(masked("line one two", "one\ntwo"), "line ***");
  EXPECT_EQ(masked("50%25a 50%a", "50%a"), "*** ***");
  EXPECT_EQ(masked("xx", "x"), "******");
}

TEST(Secret, IsMaskedWhereItWasCutShort) {
  EXPECT_EQ(masked("'AUTH' 'a long pass", "a long password"), "'AUTH' '***");
  EXPECT_EQ(masked("'AUTH' 'a long", "a long password"), "'AUTH' 'a long");
}

TEST(Secret, LeavesOtherTextsAlone) {
  EXPECT_EQ(masked("no secret", ""), "no secret");
  EXPECT_EQ(masked("%zz \\ % \\", "secret"), "%zz \\ % \\");
  EXPECT_EQ(masked("", "secret"), "");
}

}  // namespace
}  // namespace belay
