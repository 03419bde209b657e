#pragma once

#include "leat/io/index/record_selection.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/pipeline/element/owned_batch.hpp"

namespace LEAT::detail {

/// The type of block that owns the elements of a Block: views are copied to separate memory.
template <class Block>
struct owned {
  using type = Block;
};
template <class View>
struct owned<basic_record_batch<View>> {
  using type = basic_owned_batch<View>;
};
template <>
struct owned<record_selection> {
  using type = owned_record_batch;
};
template <class Block>
using owned_block = typename owned<Block>::type;

}  // namespace LEAT::detail
