#include "leat/codec/checkpoint/checkpoint_table.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "codec/file_header.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace LEAT {

using detail::load_at;
using detail::max_file_size;

namespace {

// A file is [ header | table | values ]. The header has the same layout in every version, so its
// checksum is verified before the version is interpreted. Sizes are trusted only after the checksum
// that covers them, and even then checked against each other, because a crafted file has valid
// checksums. Nothing is allocated for a number before it is known to fit into the bytes that are
// there. docs/formats/checkpoint.md describes the format.

// As in a PNG file: a transfer that treats the file as text changes these bytes.
constexpr std::string_view checkpoint_magic = "\x89LCK\r\n\x1a\n";

// Offsets of the numbers in the header, the same in all versions.
struct header_offset {
  enum : std::size_t {
    version_at = 8,
    count_at = 12,
    table_size_at = 16,
    file_size_at = 24,
    table_crc_at = 32,
    header_crc_at = 36,
  };
};

// Sizes of an entry without its texts: two text sizes, element size, offset, size, checksum.
constexpr std::size_t entry_size = 2 + 2 + 4 + 8 + 8 + 4;
// Size of the identity without its text.
constexpr std::size_t identity_size = 2;

[[noreturn]] void throw_malformed_checkpoint(const std::string& what) {
  throw failure(errc::data_loss, "checkpoint is corrupt: " + what);
}

[[noreturn]] void throw_checkpoint_error(const std::string& what) {
  throw failure(errc::invalid_argument, what);
}

// ---- Writing.

class writer {
 public:
  explicit writer(std::byte* at) noexcept : at_(at) {}

  template <class Integer>
  void put(Integer value) noexcept {
    store_little_endian(at_, value);
    at_ += sizeof value;
  }

  void put_text(std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  [[nodiscard]] const std::byte* here() const noexcept { return at_; }

 private:
  std::byte* at_;
};

void check_text(std::string_view what, const std::string& text) {
  if (text.size() <= checkpoint_table::max_text_size) return;
  throw_checkpoint_error("checkpoint: " + std::string(what) + " has " +
                         std::to_string(text.size()) + " bytes, must have at most " +
                         std::to_string(checkpoint_table::max_text_size));
}

std::uint64_t size_of_table(const checkpoint_table& t) noexcept {
  std::uint64_t size = checkpoint_table::header_size + identity_size + t.identity.size();
  for (const checkpoint_entry& e : t.entries) size += entry_size + e.name.size() + e.type.size();
  return size;
}

// ---- Reading.

// The rest of the table. Its checksum is valid, so only a crafted table can exceed its end.
class reader {
 public:
  explicit reader(byte_view rest) noexcept : rest_(rest) {}

  template <class Integer>
  Integer take() {
    return load_at<Integer>(take(sizeof(Integer)), 0);
  }

  std::string take_text(std::size_t size) { return std::string(as_text(take(size))); }

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

 private:
  byte_view take(std::size_t size) {
    if (rest_.size() < size) throw_malformed_checkpoint("table ends within an entry");
    const byte_view taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  byte_view rest_;
};

void check_entry(const checkpoint_entry& e, std::uint64_t offset, std::uint64_t file_size) {
  const auto fault = [&](const std::string& what) {
    throw_malformed_checkpoint("entry '" + e.name + "' " + what);
  };
  if (e.offset != offset)
    fault("has offset " + std::to_string(e.offset) + ", must have " + std::to_string(offset));
  if (e.size > file_size - offset)
    fault("of " + std::to_string(e.size) + " bytes at offset " + std::to_string(offset) +
          " exceeds the file size of " + std::to_string(file_size));
  if (e.element_size == 0 || e.size % e.element_size != 0) {
    fault("has " + std::to_string(e.size) + " bytes, must have a multiple of its element size " +
          std::to_string(e.element_size));
  }
}

}  // namespace

void checkpoint_table::assign_offsets() {
  check_text("identity", identity);
  for (const checkpoint_entry& e : entries) {
    check_text("name of a value", e.name);
    check_text("type of a value", e.type);
    LEAT_ASSERT(e.element_size > 0 && e.size % e.element_size == 0,
                "checkpoint entry: size must be a multiple of element_size");
  }
  std::uint64_t offset = size_of_table(*this);
  if (offset > max_size || entries.size() > UINT32_MAX) {
    throw_checkpoint_error("checkpoint of " + std::to_string(entries.size()) +
                           " values needs a table of " + std::to_string(offset) +
                           " bytes, must be at most " + std::to_string(max_size) +
                           ": combine several values into one");
  }
  for (checkpoint_entry& e : entries) {
    e.offset = offset;
    if (e.size > max_file_size - offset)
      throw_checkpoint_error("checkpoint is larger than 2^63 bytes");
    offset += e.size;
  }
}

std::uint64_t checkpoint_table::file_size() const {
  return entries.empty() ? size_of_table(*this) : entries.back().offset + entries.back().size;
}

std::vector<std::byte> checkpoint_table::encode() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size_of_table(*this)));
  writer table(bytes.data() + header_size);
  table.put(static_cast<std::uint16_t>(identity.size()));
  table.put_text(identity);
  for (const checkpoint_entry& e : entries) {
    table.put(static_cast<std::uint16_t>(e.name.size()));
    table.put(static_cast<std::uint16_t>(e.type.size()));
    table.put(e.element_size);
    table.put(e.offset);
    table.put(e.size);
    table.put(e.checksum);
    table.put_text(e.name);
    table.put_text(e.type);
  }
  LEAT_ASSERT(table.here() == bytes.data() + bytes.size(),
              "checkpoint table: encoded size differs from the computed size");
  writer header(bytes.data());
  header.put_text(checkpoint_magic);
  header.put(version);
  header.put(static_cast<std::uint32_t>(entries.size()));
  header.put(std::uint64_t{bytes.size()});
  header.put(file_size());
  header.put(crc32c(byte_view(bytes).subspan(header_size)));
  header.put(crc32c({bytes.data(), header_offset::header_crc_at}));
  return bytes;
}

checkpoint_table::extent checkpoint_table::decode_extent(byte_view bytes) {
  const std::size_t known = std::min(bytes.size(), checkpoint_magic.size());
  if (as_text(bytes.first(known)) != checkpoint_magic.substr(0, known))
    throw_checkpoint_error("file is not a checkpoint");
  if (bytes.size() < header_size) throw_malformed_checkpoint("file ends within the header");
  if (load_at<std::uint32_t>(bytes, header_offset::header_crc_at) !=
      crc32c(bytes.first(header_offset::header_crc_at))) {
    throw_malformed_checkpoint("checksum of the header is wrong");
  }
  if (const auto v = load_at<std::uint32_t>(bytes, header_offset::version_at); v != version) {
    throw failure(errc::unimplemented, "checkpoint has version " + std::to_string(v) +
                                           ", but this program reads version " +
                                           std::to_string(version) + ": update leat");
  }
  const extent e{load_at<std::uint64_t>(bytes, header_offset::table_size_at),
                 load_at<std::uint64_t>(bytes, header_offset::file_size_at)};
  if (e.table_size < header_size + identity_size || e.table_size > max_size ||
      e.file_size < e.table_size || e.file_size > max_file_size) {
    throw_malformed_checkpoint("sizes in the header contradict each other");
  }
  return e;
}

checkpoint_table checkpoint_table::decode(byte_view bytes) {
  const extent all = decode_extent(bytes.first(std::min(bytes.size(), header_size)));
  if (bytes.size() != all.table_size) throw_malformed_checkpoint("file ends within the table");
  const byte_view rest = bytes.subspan(header_size);
  if (load_at<std::uint32_t>(bytes, header_offset::table_crc_at) != crc32c(rest)) {
    throw_malformed_checkpoint("checksum of the table is wrong");
  }
  const auto count = load_at<std::uint32_t>(bytes, header_offset::count_at);
  // Limits the memory that `count` reserves.
  if (count > rest.size() / entry_size)
    throw_malformed_checkpoint("number of entries exceeds the size of the table");
  checkpoint_table table;
  reader from(rest);
  const auto size = from.take<std::uint16_t>();
  table.identity = from.take_text(size);
  table.entries.reserve(count);
  // The views stay valid: `entries` has capacity for all entries, so none of them moves.
  std::unordered_set<std::string_view> names;
  std::uint64_t offset = all.table_size;
  for (std::uint32_t i = 0; i < count; ++i) {
    checkpoint_entry& e = table.entries.emplace_back();
    const auto name_size = from.take<std::uint16_t>();
    const auto type_size = from.take<std::uint16_t>();
    e.element_size = from.take<std::uint32_t>();
    e.offset = from.take<std::uint64_t>();
    e.size = from.take<std::uint64_t>();
    e.checksum = from.take<std::uint32_t>();
    e.name = from.take_text(name_size);
    e.type = from.take_text(type_size);
    check_entry(e, offset, all.file_size);
    offset += e.size;
    if (!names.insert(e.name).second)
      throw_malformed_checkpoint("entry '" + e.name + "' occurs twice");
  }
  if (!from.empty() || offset != all.file_size)
    throw_malformed_checkpoint("entries do not fill the file");
  return table;
}

}  // namespace LEAT
