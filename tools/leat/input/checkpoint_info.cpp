#include "input/checkpoint_info.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include <leat/base/bytes.hpp>
#include <leat/base/error.hpp>
#include <leat/codec/checksum/crc32c.hpp>

#include "terminal/numbers.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

constexpr std::string_view magic("\x89LCK\r\n\x1a\n", 8);

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

// A file that is open for reading.
class checkpoint_bytes {
 public:
  explicit checkpoint_bytes(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(path_, "cannot open");
  }
  checkpoint_bytes(const checkpoint_bytes&) = delete;
  checkpoint_bytes& operator=(const checkpoint_bytes&) = delete;
  ~checkpoint_bytes() { ::close(descriptor_); }

  [[nodiscard]] struct stat status() const {
    struct stat s{};
    if (::fstat(descriptor_, &s) != 0) fail(path_, "cannot get the status");
    return s;
  }

  // Returns the number of bytes read: fewer than asked for at the end of the file.
  std::size_t read(std::span<std::byte> to, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < to.size()) {
      const ssize_t n = ::pread(descriptor_, to.data() + done, to.size() - done,
                                static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(path_, "cannot read");
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  const std::string& path_;
  const int descriptor_;
};

std::optional<std::uint64_t> step_of(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash == 0) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(dash + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return whole_number(digits);
}

void verify_values(const checkpoint_bytes& file, const leat::checkpoint_table& table) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (const leat::checkpoint_entry& e : table.entries) {
    std::uint32_t checksum = 0;
    for (std::uint64_t at = 0; at < e.size;) {
      const std::size_t want = std::min<std::uint64_t>(buffer.size(), e.size - at);
      const std::size_t got = file.read(std::span(buffer).first(want), e.offset + at);
      checksum = leat::extend_crc32c(checksum, std::span<const std::byte>(buffer).first(got));
      at += got;
      if (got < want) break;
    }
    if (checksum == e.checksum) continue;
    throw leat::failure(
        leat::errc::data_loss,
        fmt::format("entry '{}' at offset {}: checksum mismatch: expected {:#010x}, "
                    "actual {:#010x}",
                    escape_text(e.name), e.offset, e.checksum, checksum));
  }
}

leat::checkpoint_table read_table(const checkpoint_bytes& file, std::uint64_t size, bool verify) {
  std::vector<std::byte> head(leat::checkpoint_table::header_size);
  head.resize(file.read(head, 0));
  const auto extent = leat::checkpoint_table::decode_extent(head);
  if (extent.file_size != size) {
    throw leat::failure(
        leat::errc::data_loss,
        fmt::format("file has {} bytes, but its header declares {}", size, extent.file_size));
  }
  std::vector<std::byte> bytes(std::min(extent.table_size, size));
  bytes.resize(file.read(bytes, 0));
  leat::checkpoint_table table = leat::checkpoint_table::decode(bytes);
  if (verify) verify_values(file, table);
  return table;
}

bool has_magic(const std::string& path) {
  std::byte head[magic.size()];
  const checkpoint_bytes file(path);
  const std::size_t n = file.read(head, 0);
  return leat::as_text(std::span<const std::byte>(head, n)) == magic;
}

}  // namespace

std::string checkpoint_info::basename() const {
  const std::string name = std::filesystem::path(path).filename().string();
  return step ? name.substr(0, name.rfind('-')) : name;
}

checkpoint_info read_checkpoint_info(const std::string& path, bool verify) {
  checkpoint_info info;
  info.path = path;
  info.step = step_of(std::filesystem::path(path).filename().string());
  const checkpoint_bytes file(path);
  const struct stat s = file.status();
  if (!S_ISREG(s.st_mode)) {
    throw leat::failure(leat::errc::failed_precondition, path + ": not a regular file");
  }
  info.size = static_cast<std::uint64_t>(s.st_size);
  info.time = static_cast<double>(s.st_mtim.tv_sec) + static_cast<double>(s.st_mtim.tv_nsec) / 1e9;
  try {
    info.table = read_table(file, info.size, verify);
  } catch (const std::system_error& e) {
    if (e.code().category() != leat::error_category()) throw;
    info.error = message_of(e);
  }
  return info;
}

std::vector<checkpoint_info> find_checkpoints(const std::string& directory, bool verify) {
  std::vector<checkpoint_info> candidates;  // only names
  std::set<std::string> basenames;
  std::set<std::string> intact_magic;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find(".partial") != std::string::npos) continue;
    checkpoint_info c;
    c.path = path;
    c.step = step_of(entry.path().filename().string());
    if (has_magic(path)) {
      intact_magic.insert(path);
      if (c.step) basenames.insert(c.basename());
    }
    candidates.push_back(std::move(c));
  }
  std::vector<checkpoint_info> all;
  for (const checkpoint_info& c : candidates) {
    const bool named_like_one = c.step && basenames.contains(c.basename());
    if (!intact_magic.contains(c.path) && !named_like_one) continue;
    all.push_back(read_checkpoint_info(c.path, verify));
  }
  std::ranges::sort(all, {}, [](const checkpoint_info& c) {
    return std::tuple(c.basename(), c.step.value_or(0), c.path);
  });
  return all;
}

}  // namespace tool
