#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/base/bytes.hpp"

namespace LEAT {

/// A value of a checkpoint file: its name, type and position.
struct checkpoint_entry {
  /// The name under which the value is registered.
  std::string name;
  /// The type of the elements: the name of a dtype, "string" or "object". Empty if only the size of
  /// the elements is known.
  std::string type;
  std::uint32_t element_size = 1;  ///< bytes; not 0
  std::uint64_t offset = 0;        ///< position of the first byte in the file
  std::uint64_t size = 0;          ///< bytes; a multiple of element_size
  std::uint32_t checksum = 0;      ///< CRC-32C of the bytes

  /// Returns the number of elements.
  [[nodiscard]] std::uint64_t count() const noexcept { return size / element_size; }

  friend bool operator==(const checkpoint_entry&, const checkpoint_entry&) = default;
};

/// The start of a checkpoint file: the identity of the program and the list of values. See
/// docs/formats/checkpoint.md.
///
/// The values follow the table without gaps, in the order of the table, up to the end of the file.
///
/// A value type. Thread safety: thread-compatible.
struct checkpoint_table {
  /// The version of the format, which the header contains.
  static constexpr std::uint32_t version = 1;
  /// The size of the header, in bytes.
  static constexpr std::size_t header_size = 40;
  /// The maximum size of a table that is written or read, in bytes. It is sufficient for a million
  /// values with names of 60 bytes.
  static constexpr std::uint64_t max_size = std::uint64_t{128} << 20;
  static constexpr std::size_t max_text_size = 65'535;  ///< bytes of a name, a type or the identity

  /// The sizes of the table and of the file, which the header contains.
  struct extent {
    std::uint64_t table_size = 0;  ///< bytes of header and table
    std::uint64_t file_size = 0;   ///< bytes
  };

  std::string identity;  ///< of the program that saved the values
  /// The values, in the order of their bytes in the file.
  std::vector<checkpoint_entry> entries;

  /// Sets the offset of every entry from the sizes of all entries.
  ///
  /// Errors: invalid_argument, if a text is too long or if the table or the file is too large.
  void assign_offsets();

  /// Returns the size of the file in bytes: the end of the last value. Call assign_offsets() or
  /// decode() first.
  [[nodiscard]] std::uint64_t file_size() const;

  /// Serializes the header and the table.
  ///
  /// Errors: std::bad_alloc.
  /// Precondition: assign_offsets() was called.
  [[nodiscard]] std::vector<std::byte> encode() const;

  /// Parses the header. `bytes` are the first header_size bytes of a file, or all bytes of a
  /// shorter file.
  ///
  /// Errors: invalid_argument, if the file is not a checkpoint; data_loss, if it is corrupt or
  ///         truncated; unimplemented, if its version is later.
  [[nodiscard]] static extent decode_extent(byte_view bytes);

  /// Parses the header and the table. `bytes` are the first extent::table_size bytes of the file.
  /// The returned table is consistent even if the bytes come from an untrusted source: no name
  /// occurs twice, and the values fill the file.
  ///
  /// Errors: as decode_extent(); std::bad_alloc.
  /// Cost:   memory proportional to the size of `bytes`.
  [[nodiscard]] static checkpoint_table decode(byte_view bytes);

  friend bool operator==(const checkpoint_table&, const checkpoint_table&) = default;
};

}  // namespace LEAT
