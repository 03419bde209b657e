#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <isa-l/crc.h>
#include <unistd.h>

namespace bench {

/// Returns the masked checksum of a TFRecord.
inline std::uint32_t checksum(const char* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(data);
  const std::uint32_t crc =
      ~::crc32_iscsi(const_cast<unsigned char*>(bytes), static_cast<int>(size), ~0U);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

/// The plain loop: reads 256 KiB at a time, verifies each record, and calls use(data, size) for it.
template <class Use>
void for_each_record(const std::string& path, Use use) {
  const int file = ::open(path.c_str(), O_RDONLY);
  std::vector<char> buffer(512 << 10);
  std::size_t kept = 0;
  for (;;) {
    const ssize_t n = ::read(file, buffer.data() + kept, 256 << 10);
    if (n <= 0) break;
    const char* at = buffer.data();
    std::size_t left = kept + static_cast<std::size_t>(n);
    while (left >= 12) {
      std::uint64_t length;
      std::uint32_t crcs[2];
      std::memcpy(&length, at, sizeof length);
      if (left < length + 16) break;
      std::memcpy(&crcs[0], at + 8, 4);
      std::memcpy(&crcs[1], at + 12 + length, 4);
      if (checksum(at, 8) != crcs[0] || checksum(at + 12, length) != crcs[1]) std::abort();
      use(at + 12, length);
      at += length + 16;
      left -= length + 16;
    }
    kept = left;
    std::memmove(buffer.data(), at, kept);
  }
  ::close(file);
}

}  // namespace bench
