// URLs of servers, and that no password leaves them.
#include "base/url.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

std::string take_none(std::string_view /*name*/, const std::string& /*value*/) {
  return "it is not known";
}

ServerUrl good(std::string_view url) {
  Result<ServerUrl> server = parse_url(url, take_none);
  EXPECT_TRUE(server.ok()) << url << ": " << server.status.message;
  return server.value;
}

Status bad(std::string_view url) {
  Result<ServerUrl> server = parse_url(url, take_none);
  EXPECT_FALSE(server.ok()) << url;
  return server.status;
}

TEST(Url, TakesDefaultsForWhatIsMissing) {
  EXPECT_EQ(good("redis://").endpoints.front().display(), "localhost:6379");
  EXPECT_EQ(good("redis://example").endpoints.front().display(), "example:6379");
  EXPECT_EQ(good("redis://:7000").endpoints.front().display(), "localhost:7000");
}

TEST(Url, ReadsEveryPart) {
  const ServerUrl server = good("redis://me:se%40cret@10.0.0.4:7000/3");
  EXPECT_EQ(server.credentials.user, "me");
  EXPECT_EQ(server.credentials.password.view(), "se@cret");
  EXPECT_EQ(server.endpoints.front().display(), "10.0.0.4:7000");
  EXPECT_EQ(server.database, 3);
}

TEST(Url, ReadsAPasswordWithoutUser) {
  const ServerUrl server = good("redis://:secret@host");
  EXPECT_EQ(server.credentials.user, "");
  EXPECT_EQ(server.credentials.password.view(), "secret");
}

TEST(Url, TakesAPasswordWithAnUnescapedAt) {
  EXPECT_EQ(good("redis://u:a@b@host").credentials.password.view(), "a@b");
}

TEST(Url, ReadsIpv6InBrackets) {
  EXPECT_EQ(good("redis://[::1]:7000").endpoints.front().host, "::1");
  EXPECT_EQ(good("redis://[::1]").endpoints.front().display(), "[::1]:6379");
}

TEST(Url, ReadsUnixSockets) {
  const ServerUrl server = good("unix://:pw@/run/redis%20a.sock?db=2");
  EXPECT_EQ(server.endpoints.front().path, "/run/redis a.sock");
  EXPECT_EQ(server.credentials.password.view(), "pw");
  EXPECT_EQ(server.database, 2);
}

TEST(Url, GivesParametersDecodedAndInOrder) {
  std::string seen;
  const auto take = [&seen](std::string_view name, const std::string& value) {
    seen += std::string(name) + " is " + value + ";";
    return "";
  };
  Result<ServerUrl> server = parse_url("redis://u:p@h:7000/3?a=1&b=x%26y%40z&c=", take);
  EXPECT_TRUE(server.ok()) << server.status.message;
  EXPECT_EQ(seen, "a is 1;b is x&y@z;c is ;");
  EXPECT_EQ(server.value.endpoints.front().display(), "h:7000");
  EXPECT_EQ(server.value.database, 3);
  server = parse_url("unix:///s?a=2&db=4&", take);
  EXPECT_TRUE(server.ok()) << server.status.message;
  EXPECT_EQ(server.value.database, 4);
}

std::string shown(std::string_view url) {
  std::string all;
  for (const Endpoint& endpoint : good(url).endpoints) {
    all += endpoint.display() + " ";
  }
  return all;
}

TEST(Url, TakesAMasterAndItsReplicas) {
  EXPECT_EQ(shown("redis://a,b:7000,[::1],[::2]:7001,:7002/3"),
            "a:6379 b:7000 [::1]:6379 [::2]:7001 localhost:7002 ");
  const ServerUrl server = good("redis://me:a,b@h1,h2:7000/3");
  EXPECT_EQ(server.credentials.user, "me");
  EXPECT_EQ(server.credentials.password.view(), "a,b");
  EXPECT_EQ(server.endpoints.size(), 2U);
  EXPECT_EQ(server.database, 3);
  std::string most = "redis://h1";
  for (int i = 2; i <= 32; ++i) {
    most += ",h" + std::to_string(i);
  }
  EXPECT_EQ(good(most).endpoints.size(), 32U);
  EXPECT_NE(bad(most + ",h33").message.find("byte 9: the list has 33 hosts, at most 32 are taken"),
            std::string::npos);
#ifdef BELAY_TLS
  for (const Endpoint& endpoint : good("rediss://a,b").endpoints) {
    EXPECT_TRUE(endpoint.tls);
  }
#endif
}

TEST(Url, TakesSentinelsAndTheNameOfAMaster) {
  const ServerUrl server = good("redis-sentinel://me:pw@s1,s2:7000,[::1]/my%2Dmaster?db=3");
  EXPECT_EQ(server.master, "my-master");
  EXPECT_EQ(server.credentials.user, "me");
  EXPECT_EQ(server.database, 3);
  EXPECT_EQ(shown("redis-sentinel://s1,s2:7000,[::1]/m"), "s1:26379 s2:7000 [::1]:26379 ");
  EXPECT_EQ(good("redis-sentinel:///m").endpoints.front().display(), "localhost:26379");
  EXPECT_EQ(good("redis-sentinel://s/" + std::string(255, 'm')).master.size(), 255U);
  EXPECT_EQ(bad("redis-sentinel://s/" + std::string(256, 'm')).code, BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(good("redis://s").master, "");
#ifdef BELAY_TLS
  EXPECT_TRUE(good("rediss-sentinel://s1,s2/m").endpoints.back().tls);
#else
  EXPECT_EQ(bad("rediss-sentinel://s1,s2/m").code, BELAY_UNSUPPORTED_URL);
#endif
}

TEST(Url, HasNoHostThatNoNameCouldBe) {
  EXPECT_EQ(good("redis://" + std::string(253, 'h')).endpoints.front().host.size(), 253U);
  const Status status = bad("redis://" + std::string(254, 'h'));
  EXPECT_NE(status.message.find("byte 9: the host has more than 253 bytes"), std::string::npos);
  EXPECT_LT(status.message.size(), 200U);
}

TEST(Url, NamesWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> kBad[] = {
      {"localhost", "URL, from byte 1: there is no scheme"},
      {"http://h",
       "URL http://***, from byte 1: the scheme is not supported; redis://, redis-sentinel://"},
      {"rediss://h:0", "URL rediss://***, from byte 11: the port"},
      {"redis://h:99999", "URL redis://***, from byte 10: the port is not a number"},
      {"redis://h:", "from byte 10: the port"},
      {"redis://::1", "brackets"},
      {"redis://[::1", "not closed"},
      {"redis://[::1]x", "from byte 14: only a port"},
      {"redis://h/x",
       "from byte 11: the database is not a number from 0 to 1000000; a master's name needs "
       "redis-sentinel://"},
      {"redis://u:p@h/1/2", "from byte 15: the database"},
      {"redis://h?fast=1", "from byte 11: it is not known"},
      {"redis://h?db=1", "from byte 11: it is not known"},
      {"redis://h?fast", "from byte 11: a parameter is NAME=VALUE"},
      {"redis://h?&fast=1", "from byte 11: a parameter is NAME=VALUE"},
      {"redis://h?fast=%zz", "from byte 11: a parameter has a bad % escape"},
      {"redis://u%zz@h", "from byte 9: the user or password has a bad % escape"},
      {"redis://h%zz", "from byte 9: the host has a bad % escape"},
      {"redis://app:pw@a,app:pw@b",
       "from byte 9: user and password stand once, before the first host"},
      {"redis://a,,b", "from byte 11: host 2 of the list is empty"},
      {"redis://,a", "from byte 9: host 1 of the list is empty"},
      {"redis://a,/1", "from byte 11: host 2 of the list is empty"},
      {"redis://a,b:0", "from byte 12: the port"},
      {"redis://a,b,A:6379", "from byte 13: host 3 of the list is the same as host 1"},
      {"redis://[::1],[::1]:6379", "from byte 15: host 2 of the list is the same as host 1"},
      {"redis-sentinel://a,b", "from byte 21: the name of the master stands behind the sentinels"},
      {"redis-sentinel://a,b/", "from byte 22: the name of the master"},
      {"redis-sentinel://a,b/m/1", "from byte 22: the name of the master"},
      {"redis-sentinel://a,b/m%zz", "from byte 22: the name of the master has a bad % escape"},
      {"redis-sentinel://a,b/m%20n", "from byte 22: the name of the master"},
      {"redis-sentinel://a,,b/m", "from byte 20: host 2 of the list is empty"},
      {"redis-sentinel://a/m?db=x", "from byte 25: the database is not a number from 0 to 1000000"},
      {"redis-sentinel://a/m?db=1&db=2", "from byte 27: db was given twice"},
      {"redis-cluster://a,b/1", "from byte 21: a cluster has one database, 0"},
      {"redis-cluster://a,b/x", "from byte 21: the database is not a number"},
      {"redis-cluster://a,,b", "from byte 19: host 2 of the list is empty"},
      {"redis-cluster+://a", "the scheme is not supported"},
      {"redlock://a,b,c", "the scheme is not supported"},
      {"unix://relative", "absolute"},
      {"unix:///s?db=-1", "from byte 14: the database"},
      {"unix:///s?db=1&fast=1", "from byte 16: it is not known"}};
  for (const auto& [url, what] : kBad) {
    EXPECT_NE(bad(url).message.find(what), std::string::npos) << bad(url).message;
  }
}

TEST(Url, NamesNodesOfACluster) {
  for (const std::string path : {"", "/", "/0"}) {
    const ServerUrl server = good("redis-cluster://u:p@a,b:7000" + path);
    EXPECT_TRUE(server.of_cluster);
    ASSERT_EQ(server.endpoints.size(), 2U);
    EXPECT_EQ(server.endpoints[0].port, 6379);
    EXPECT_EQ(server.endpoints[1].display(), "b:7000");
    EXPECT_EQ(server.credentials.user, "u");
    EXPECT_EQ(server.master, "");
  }
  EXPECT_FALSE(good("redis://a,b").of_cluster);
  EXPECT_FALSE(good("redis-sentinel://a,b/m").of_cluster);
#ifdef BELAY_TLS
  EXPECT_TRUE(good("rediss-cluster://a").endpoints.front().tls);
#endif
}

TEST(Url, SaysWhetherToSpeakTls) {
  const auto take = [](std::string_view, const std::string&) { return "no"; };
  EXPECT_FALSE(parse_url("redis://u:p@h:7000/3", take).value.endpoints.front().tls);
  const Result<ServerUrl> server = parse_url("rediss://u:p@h:7000/3", take);
#ifdef BELAY_TLS
  ASSERT_TRUE(server.ok()) << server.status.message;
  EXPECT_TRUE(server.value.endpoints.front().tls);
  EXPECT_EQ(server.value.endpoints.front().display(), "h:7000");
  EXPECT_EQ(server.value.database, 3);
#else
  EXPECT_EQ(server.status.code, BELAY_UNSUPPORTED_URL);
  EXPECT_NE(server.status.message.find("built without TLS"), std::string::npos);
#endif
}

TEST(Url, RefusesWhatIsNotSupportedYetByItsName) {
  EXPECT_EQ(bad("valkeys://h").code, BELAY_UNSUPPORTED_URL);
  EXPECT_NE(bad("valkeys://h").message.find("valkeys://***"), std::string::npos);
  EXPECT_EQ(bad("http://h").code, BELAY_UNSUPPORTED_URL);
}

// Whatever part it was put into by mistake.
TEST(Url, QuotesNoTextInAMessage) {
  for (const char* url : {"redis://me:secret@h:0",
                          "rediss://me:secret@h:0",
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
                          "redis://h,secret,",
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
