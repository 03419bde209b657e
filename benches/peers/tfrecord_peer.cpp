// Three ways to read a TFRecord file. They verify checksums, except in hot-unverified.
//
// reader like TensorFlow's  copies each header and each payload from a buffered stream to a string,
//                           as TensorFlow's RecordReader does
// plain loop                parses chunks in place, and copies an incomplete record to the next one
// pread loop                reads records in random order, one after another, by their offsets

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "support/bench.hpp"
#include "support/page_cache.hpp"
#include "support/record_loop.hpp"

namespace {

using bench::checksum;

template <class Number>
Number load(const char* from) {
  Number n;
  std::memcpy(&n, from, sizeof n);
  return n;
}

// A stream with a buffer of 256 KiB, the size that TensorFlow's data sets use.
class stream {
 public:
  explicit stream(const std::string& path) : file_(::open(path.c_str(), O_RDONLY)) {
    buffer_.resize(256 << 10);
  }
  ~stream() { ::close(file_); }
  stream(const stream&) = delete;

  bool read(std::size_t size, std::string& out) {
    out.clear();
    while (out.size() < size) {
      if (at_ == end_) {
        const ssize_t n = ::pread(file_, buffer_.data(), buffer_.size(), offset_);
        if (n <= 0) return false;
        offset_ += n;
        at_ = 0;
        end_ = static_cast<std::size_t>(n);
      }
      const std::size_t part = std::min(size - out.size(), end_ - at_);
      out.append(buffer_.data() + at_, part);
      at_ += part;
    }
    return true;
  }

 private:
  int file_;
  off_t offset_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::vector<char> buffer_;
};

std::size_t record_by_record(const std::string& path) {
  stream in(path);
  std::string header;
  std::string payload;
  std::size_t bytes = 0;
  while (in.read(12, header)) {
    const auto length = load<std::uint64_t>(header.data());
    if (checksum(header.data(), 8) != load<std::uint32_t>(header.data() + 8)) std::abort();
    if (!in.read(length + 4, payload)) std::abort();
    if (checksum(payload.data(), length) != load<std::uint32_t>(payload.data() + length)) {
      std::abort();
    }
    bytes += length + 16;
  }
  return bytes;
}

template <bool verified>
std::size_t plain_loop(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  std::vector<char> buffer(512 << 10);
  std::size_t kept = 0;
  std::size_t bytes = 0;
  off_t offset = 0;
  for (;;) {
    const ssize_t n = ::pread(file, buffer.data() + kept, 256 << 10, offset);
    if (n <= 0) break;
    offset += n;
    const char* at = buffer.data();
    std::size_t left = kept + static_cast<std::size_t>(n);
    while (left >= 12) {
      const auto length = load<std::uint64_t>(at);
      if (left < length + 16) break;
      if (verified) {
        if (checksum(at, 8) != load<std::uint32_t>(at + 8)) std::abort();
        if (checksum(at + 12, length) != load<std::uint32_t>(at + 12 + length)) std::abort();
      }
      at += length + 16;
      left -= length + 16;
      bytes += length + 16;
    }
    kept = left;
    std::memmove(buffer.data(), at, kept);
  }
  ::close(file);
  return bytes;
}

std::vector<off_t> offsets_of(int file) {
  std::vector<off_t> offsets;
  off_t at = 0;
  for (char header[12]; ::pread(file, header, sizeof header, at) == 12;) {
    offsets.push_back(at);
    at += static_cast<off_t>(load<std::uint64_t>(header)) + 16;
  }
  offsets.push_back(at);
  return offsets;
}

// Returns nanoseconds per record. The search for the offsets is not measured.
double random_loop(const bench::request& r, bool cold) {
  const int file = ::open(r.file.c_str(), O_RDONLY);
  const std::vector<off_t> offsets = offsets_of(file);
  const auto order = bench::random_order(offsets.size() - 1, static_cast<std::size_t>(r.items));
  std::vector<char> buffer(1 << 20);
  if (cold) bench::evict(r.file);
  const bench::stopwatch watch;
  for (const std::uint64_t i : order) {
    const auto size = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
    const ssize_t n = ::pread(file, buffer.data(), size, offsets[i]);
    const char* const at = buffer.data();
    if (n != static_cast<ssize_t>(size) || load<std::uint64_t>(at) != size - 16) std::abort();
    if (checksum(at, 8) != load<std::uint32_t>(at + 8)) std::abort();
    if (checksum(at + 12, size - 16) != load<std::uint32_t>(at + size - 4)) std::abort();
  }
  const double seconds = watch.seconds();
  ::close(file);
  return seconds * 1e9 / static_cast<double>(order.size());
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload.starts_with("tfrecord/random-")) {
    const bool cold = r.workload.starts_with("tfrecord/random-cold");
    if (!cold) random_loop(r, cold);
    return bench::report(r, "pread loop", random_loop(r, cold), "ns/record");
  }
  if (r.workload.starts_with("tfrecord/hot-unverified/")) {
    return bench::report_reading(r, "plain loop", [&] { return plain_loop<false>(r.file); });
  }
  if (r.workload.ends_with("/plain")) {
    return bench::report_reading(r, "plain loop", [&] { return plain_loop<true>(r.file); });
  }
  return bench::report_reading(r, "reader like TensorFlow's",
                               [&] { return record_by_record(r.file); });
}
