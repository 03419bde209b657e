#include "leat/codec/example/example_parser.hpp"

#include <string>
#include <utility>
#include <vector>

#include "codec/example/feature_columns.hpp"
#include "codec/example/feature_layout.hpp"
#include "codec/record_count_context.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

using detail::feature_column;
using detail::record_id;

void add_record(byte_view record, const record_id& id, detail::feature_lookup& finder,
                std::vector<feature_column>& columns) {
  try {
    finder.clear();
    detail::for_each_features(record,
                              [&](std::string_view features) { finder.add_features(features); });
    for (feature_column& column : columns) {
      std::visit([&](auto& c) { c.add(id, finder.lists()); }, column);
    }
  } catch (const detail::malformed_message& error) {
    id.throw_error(error, record, "tf.train.Example");
  }
}

}  // namespace

struct example_parser::plan : detail::feature_layout {
  using feature_layout::feature_layout;
};

example_parser::example_parser(feature_map features, example_options options) {
  if (features.empty())
    throw failure(errc::invalid_argument, "example_parser: no features: pass one or more");
  plan_ = std::make_unique<const plan>(std::move(features), "example_parser", options);
}

example_parser::example_parser(example_parser&&) noexcept = default;
example_parser& example_parser::operator=(example_parser&&) noexcept = default;
example_parser::~example_parser() = default;

parsed_features example_parser::parse(std::span<const byte_view> records,
                                      std::span<const std::string_view> names) const {
  detail::check_names("example_parser", names, records.size());
  std::vector<feature_column> columns = plan_->make_columns(records.size());
  detail::feature_lookup finder(*plan_);
  detail::with_record_count(records.size(), [&] {
    for (std::size_t i = 0; i < records.size(); ++i) {
      add_record(records[i], detail::make_record_id(i, names), finder, columns);
    }
  });
  return detail::take_all(*plan_, columns, records.size());
}

parsed_features example_parser::parse_one(byte_view record, std::string_view name) const {
  return detail::drop_record_dimension(parse(std::span(&record, 1), std::span(&name, 1)));
}

}  // namespace LEAT
