#include "input/file_probe.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <leat/io/file/file.hpp>

#include "input/file_format.hpp"
#include "input/paths.hpp"

namespace tool {
namespace {

// Checks the name and the first bytes.
bool is_compressed(const std::string& path) {
  if (guess_format(path).compression != leat::compression::none) return true;
  std::string beginning(leat::compression_sample_size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  return leat::detect_tfrecord_compression(leat::as_bytes(beginning)) != leat::compression::none;
}

}  // namespace

leat::task<std::optional<leat::compression>> detect_compression(std::string path) {
  leat::file f = co_await leat::file::open(std::move(path));
  if (!f.status().is_regular) co_return std::nullopt;
  std::vector<std::byte> beginning(leat::compression_sample_size);
  beginning.resize(co_await f.read_at(0, beginning));
  if (f.status().size == 0 && !beginning.empty()) co_return std::nullopt;  // such as in /proc
  co_return leat::detect_tfrecord_compression(beginning);
}

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    if (is_standard_input(path)) return 0;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) continue;
    if (is_compressed(path)) return 0;
    bytes += size;
  }
  return bytes;
}

}  // namespace tool
