#pragma once

#include <cstddef>
#include <utility>

#include "leat/codec/decode_error.hpp"

namespace LEAT::detail {

/// Decodes the records of one call and adds their number to an error.
template <class Decode>
decltype(auto) with_record_count(std::size_t records, Decode&& decode) {
  try {
    return std::forward<Decode>(decode)();
  } catch (const decode_error& e) {
    throw e.with_record_count(records);
  }
}

}  // namespace LEAT::detail
