#include "base/sha1.h"

#include <array>
#include <bit>
#include <cstdint>

namespace belay {

namespace {

using State = std::array<std::uint32_t, 5>;

constexpr std::size_t kBlock = 64;

std::uint32_t word_at(const std::string& message, std::size_t at) {
  const auto byte = [&message, at](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(message[at + i])};
  };
  return byte(0) << 24U | byte(1) << 16U | byte(2) << 8U | byte(3);
}

void append_word(std::uint32_t word, std::string* bytes) {
  const char text[] = {static_cast<char>(word >> 24U), static_cast<char>(word >> 16U),
                       static_cast<char>(word >> 8U), static_cast<char>(word)};
  bytes->append(text, sizeof text);
}

// Twenty rounds of the eighty.
template <typename Function>
void twenty(State& state, const std::uint32_t* words, std::uint32_t k, Function f) {
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::uint32_t next = std::rotl(a, 5) + f(b, c, d) + e + k + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {a, b, c, d, e};
}

void mix(State& state, const std::array<std::uint32_t, 80>& words) {
  using Word = std::uint32_t;
  const auto parity = [](Word b, Word c, Word d) { return b ^ c ^ d; };
  State mixed = state;
  twenty(mixed, words.data(), 0x5A827999,
         [](Word b, Word c, Word d) { return (b & c) | (~b & d); });
  twenty(mixed, words.data() + 20, 0x6ED9EBA1, parity);
  twenty(mixed, words.data() + 40, 0x8F1BBCDC,
         [](Word b, Word c, Word d) { return (b & c) | (b & d) | (c & d); });
  twenty(mixed, words.data() + 60, 0xCA62C1D6, parity);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] += mixed[i];
  }
}

}  // namespace

std::string sha1(std::string_view bytes) {
  std::string message;
  message.reserve(bytes.size() + 2 * kBlock);
  message.append(bytes);
  message.push_back('\x80');
  message.append((kBlock + 56 - message.size() % kBlock) % kBlock, '\0');
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  append_word(static_cast<std::uint32_t>(bits >> 32U), &message);
  append_word(static_cast<std::uint32_t>(bits), &message);
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
    append_word(word, &digest);
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
