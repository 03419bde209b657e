#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/base/bytes.hpp"

namespace leat {

/// One value of a checkpoint file: what it is and where it stands.
struct checkpoint_entry {
  std::string name;
  /// Of its elements: the name of a dtype, "string" or "object"; empty for elements of which only
  /// the size is known.
  std::string type;
  std::uint32_t element_size = 1;  ///< bytes; not 0
  std::uint64_t offset = 0;        ///< of its first byte, from the start of the file
  std::uint64_t size = 0;          ///< bytes; a multiple of element_size
  std::uint32_t checksum = 0;      ///< CRC-32C of its bytes

  [[nodiscard]] std::uint64_t count() const noexcept { return size / element_size; }

  friend bool operator==(const checkpoint_entry&, const checkpoint_entry&) = default;
};

/// What a checkpoint file begins with: whose it is, and which values it holds. See
/// docs/formats/checkpoint.md.
///
/// The values lie behind the table, one behind the other in its order, up to the end of the file.
/// A value type. Thread safety: thread-compatible.
struct checkpoint_table {
  static constexpr std::uint32_t version = 1;
  static constexpr std::size_t header_size = 40;
  /// Larger tables are neither written nor read: a million values with names of 60 bytes.
  static constexpr std::uint64_t max_size = std::uint64_t{128} << 20;
  static constexpr std::size_t max_text_size = 65'535;  ///< of a name, a type, the identity

  /// What the file begins with tells how long the rest of the table is, and the whole file.
  struct extent {
    std::uint64_t table_size = 0;  ///< bytes of header and table
    std::uint64_t file_size = 0;   ///< bytes
  };

  std::string identity;  ///< of the program whose values these are
  std::vector<checkpoint_entry> entries;

  /// Gives every entry the offset at which it comes to stand, by the sizes of all.
  /// Errors: invalid_argument for a text that is too long, a table or file that is too large.
  void assign_offsets();

  /// Bytes of the file: where the last value ends, after assign_offsets() or decode().
  [[nodiscard]] std::uint64_t file_size() const;

  /// Header and table as bytes. Errors: std::bad_alloc. Precondition: assign_offsets() was called.
  [[nodiscard]] std::vector<std::byte> encode() const;

  /// Reads the header, the first header_size bytes of a file; give fewer of a shorter one.
  ///
  /// Errors: invalid_argument for what is no checkpoint; data_loss for a corrupt or cut-off one;
  ///         unimplemented for one of a later version.
  [[nodiscard]] static extent decode_extent(byte_view bytes);

  /// Reads header and table: the first extent::table_size bytes. What comes out is consistent,
  /// whoever wrote the bytes: no name twice, and values that fill the file.
  ///
  /// Errors: as decode_extent(); std::bad_alloc. Cost: memory of the order of `bytes`, no more.
  [[nodiscard]] static checkpoint_table decode(byte_view bytes);

  friend bool operator==(const checkpoint_table&, const checkpoint_table&) = default;
};

}  // namespace leat
