#include "leat/input/element_source.hpp"

#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

[[noreturn]] void throw_source_error(std::string_view owner, const std::string& why) {
  throw failure(errc::invalid_argument, std::string(owner) + ": " + why);
}

}  // namespace

void check_source(const source_options& how, bool filters, std::string_view owner) {
  if (how.tasks == 0) throw_source_error(owner, "source_options::tasks is 0, must be 1 or more");
  if (!how.keep.has_rank()) {
    throw_source_error(owner,
                       "source_options::keep has an unknown rank, must have the shape [], or [?] "
                       "for one value per row");
  }
  if (how.keep.rank() > 1) {
    throw_source_error(owner, "source_options::keep has the shape " + to_string(how.keep) +
                                  ", must have [], or [?] for one value per row");
  }
  if (how.keep.rank() == 0) return;
  if (!filters)
    throw_source_error(
        owner, "source_options::keep is set, but the source does not return filtered_element");
  if (!how.enqueue_many) {
    throw_source_error(owner, "source_options::keep has the shape " + to_string(how.keep) +
                                  ": set enqueue_many for one value per row");
  }
}

keep_mask to_keep_mask(const filtered_element& got, const source_options& how,
                       std::string_view owner) {
  if (const bool* all = std::get_if<bool>(&got.keep); all && how.keep.rank() == 0) return {*all};
  const tensor* const keep = std::get_if<tensor>(&got.keep);
  const shape given = keep ? keep->shape() : shape();
  if (!how.keep.is_compatible_with(given)) {
    throw_source_error(
        owner, "keep has the shape " + to_string(given) + ", must have " + to_string(how.keep));
  }
  if (keep->type() != dtype::boolean) {
    throw_source_error(
        owner, "keep has type " + std::string(to_string(keep->type())) + ", must have bool");
  }
  if (how.keep.rank() == 0) return {keep->value<bool>()};
  return {.any = true, .each = keep->values<bool>()};
}

}  // namespace LEAT::detail
