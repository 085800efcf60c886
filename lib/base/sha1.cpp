#include "base/sha1.h"

#include <array>
#include <bit>
#include <cstdint>

namespace belay {

namespace {

using State = std::array<std::uint32_t, 5>;

constexpr std::size_t kBlock = 64;

std::uint32_t word_at(const std::string& message, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = (word << 8U) | static_cast<unsigned char>(message[at + i]);
  }
  return word;
}

void mix(State& state, const std::array<std::uint32_t, 80>& words) {
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = 0;
    std::uint32_t k = 0;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5A827999;
    } else if (i < 40) {
      f = b ^ c ^ d;
      k = 0x6ED9EBA1;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8F1BBCDC;
    } else {
      f = b ^ c ^ d;
      k = 0xCA62C1D6;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string sha1(std::string_view bytes) {
  std::string message(bytes);
  message.push_back('\x80');
  message.append((kBlock + 56 - message.size() % kBlock) % kBlock, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    message.push_back(static_cast<char>((std::uint64_t{bytes.size()} * 8) >> shift));
  }
  State state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  for (std::size_t at = 0; at < message.size(); at += kBlock) {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 16; ++i) {
      words[i] = word_at(message, at + i * 4);
    }
    for (std::size_t i = 16; i < 80; ++i) {
      words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    mix(state, words);
  }
  std::string digest;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      digest.push_back(static_cast<char>(word >> shift));
    }
  }
  return digest;
}

std::string sha1_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : sha1(bytes)) {
    const auto digits = static_cast<unsigned char>(byte);
    hex.push_back("0123456789abcdef"[digits >> 4U]);
    hex.push_back("0123456789abcdef"[digits & 15U]);
  }
  return hex;
}

}  // namespace belay
