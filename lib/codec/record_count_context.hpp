#pragma once

#include <cstddef>
#include <utility>

#include "leat/codec/decode_error.hpp"

namespace leat::detail {

/// Decodes the records of one call: an error of one says how many there are.
template <class Decode>
decltype(auto) with_record_count(std::size_t records, Decode&& decode) {
  try {
    return std::forward<Decode>(decode)();
  } catch (const decode_error& e) {
    throw e.with_record_count(records);
  }
}

}  // namespace leat::detail
