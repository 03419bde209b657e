#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "leat/io/reader/record_batch.hpp"

namespace LEAT {

/// A record with its position and its key, in the format of TensorFlow's readers.
struct keyed_record {
  std::string key;  ///< path and position: "a.tfrecord:48", "a.txt:7"; see the reader's key()
  /// The bytes of the record.
  std::string value;
  std::size_t path_size = 0;  ///< number of bytes of the path, with which the key begins
  std::uint64_t offset = 0;   ///< as record_position::offset
  std::uint64_t index = 0;    ///< as record_position::index

  /// Returns the position of the record. Its path is a view of `key`, valid until `key` changes.
  [[nodiscard]] record_position position() const noexcept {
    return {std::string_view(key).substr(0, path_size), offset, index};
  }
  friend bool operator==(const keyed_record&, const keyed_record&) = default;
};

}  // namespace LEAT
