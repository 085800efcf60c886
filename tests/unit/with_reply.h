// Bytes of a server, read as the one reply that they are.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "net/resp.h"

namespace belay {

inline void with_reply(std::string_view bytes, const std::function<void(Reply)>& read) {
  int replies = 0;
  ReplyReader reader;
  EXPECT_EQ(reader.feed(bytes,
                        [&](Reply reply) {
                          ++replies;
                          read(reply);
                          return true;
                        }),
            "");
  EXPECT_EQ(replies, 1);
}

}  // namespace belay
