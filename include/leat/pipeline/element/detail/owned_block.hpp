#pragma once

#include "leat/io/index/record_selection.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/pipeline/element/owned_batch.hpp"

namespace leat::detail {

/// The run that holds elements which a run lent, or moved: views get memory of their own.
template <class Run>
struct owned {
  using type = Run;
};
template <class View>
struct owned<basic_record_batch<View>> {
  using type = basic_rows<View>;
};
template <>
struct owned<record_selection> {
  using type = record_rows;
};
template <class Run>
using owned_run = typename owned<Run>::type;

}  // namespace leat::detail
