// SipHash-2-4 (Aumasson and Bernstein, 2012): strings to numbers that are the same everywhere.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace tenure::nn::text {

class SipHash {
 public:
  explicit SipHash(std::array<std::uint64_t, 2> key)
      : v_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
           key[1] ^ 0x7465646279746573} {}

  std::uint64_t operator()(std::string_view bytes) && {
    const std::size_t whole = bytes.size() / 8 * 8;
    for (std::size_t i = 0; i < whole; i += 8) take(word(bytes.substr(i, 8)));
    take(word(bytes.substr(whole)) | static_cast<std::uint64_t>(bytes.size()) << 56);
    v_[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  static std::uint64_t word(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return value;
  }
  void take(std::uint64_t word) {
    v_[3] ^= word;
    round();
    round();
    v_[0] ^= word;
  }
  void mix(int a, int b, int turn) {
    v_[a] += v_[b];
    v_[b] = std::rotl(v_[b], turn) ^ v_[a];
  }
  void round() {
    mix(0, 1, 13);
    v_[0] = std::rotl(v_[0], 32);
    mix(2, 3, 16);
    mix(0, 3, 21);
    mix(2, 1, 17);
    v_[2] = std::rotl(v_[2], 32);
  }

  std::uint64_t v_[4];
};

inline std::uint64_t sip_hash(std::string_view bytes, std::array<std::uint64_t, 2> key) {
  return SipHash(key)(bytes);
}

}  // namespace tenure::nn::text
