#include "leat/codec/example/sequence_example_parser.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/example/feature_columns.hpp"
#include "codec/example/feature_layout.hpp"
#include "codec/example/step_columns.hpp"
#include "codec/record_count_context.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

using detail::feature_column;
using detail::feature_layout;
using detail::record_id;
using detail::step_column;

constexpr const char* owner = "sequence_example_parser";

std::vector<step_column> make_step_columns(const feature_layout& plan) {
  std::vector<step_column> columns;
  for (const auto& [name, f] : plan.features()) {
    if (const auto* rows = std::get_if<fixed_len_sequence_feature>(&f)) {
      columns.emplace_back(std::in_place_type<detail::row_column>, name, *rows);
    } else {
      columns.emplace_back(std::in_place_type<detail::ragged_column>, name,
                           std::get<var_len_feature>(f));
    }
  }
  return columns;
}

}  // namespace

struct sequence_example_parser::plan {
  plan(feature_map c, feature_map s, const example_options& options)
      : context(std::move(c), owner, options), sequences(std::move(s), owner, options, true) {}

  feature_layout context;
  feature_layout sequences;
};

namespace {

// SequenceExample { Features context = 1; FeatureLists feature_lists = 2 }
class record_reader {
 public:
  record_reader(const feature_layout& context, const feature_layout& sequences)
      : sequences_(sequences), finder_(context), lists_(sequences.slots()) {}

  void read(byte_view record) {
    finder_.clear();
    lists_.assign(lists_.size(), std::nullopt);
    detail::for_each_bytes(as_text(record), 1,
                           [this](std::string_view features) { finder_.add_features(features); });
    detail::for_each_bytes(as_text(record), 2,
                           [this](std::string_view lists) { add_lists(lists); });
  }

  [[nodiscard]] detail::record_lists context() const noexcept { return finder_.lists(); }
  // Returns the steps of the sequence feature with this number; null if the record has no such
  // list.
  [[nodiscard]] const std::string_view* steps(std::size_t feature) const noexcept {
    return lists_[feature] ? &*lists_[feature] : nullptr;
  }
  [[nodiscard]] detail::joined_bytes& joined() noexcept { return joined_; }

 private:
  void add_lists(std::string_view feature_lists) {
    detail::for_each_bytes(feature_lists, 1, [this](std::string_view bytes) {
      const detail::map_entry entry(bytes, joined_);
      const std::size_t slot = sequences_.find_slot(entry.key);
      if (slot < lists_.size()) lists_[slot] = entry.value;
    });
  }

  const feature_layout& sequences_;
  detail::feature_lookup finder_;
  std::vector<std::optional<std::string_view>> lists_;
  detail::joined_bytes joined_;  // of all records, because the columns refer to them
};

void add_record(byte_view record, const record_id& id, record_reader& reader,
                std::vector<feature_column>& context, std::vector<step_column>& sequences) {
  try {
    reader.read(record);
    for (feature_column& column : context) {
      std::visit([&](auto& c) { c.add(id, reader.context()); }, column);
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::visit([&](auto& c) { c.add(id, reader.steps(i), reader.joined()); }, sequences[i]);
    }
  } catch (const detail::malformed_message& error) {
    id.throw_error(error, record, "tf.train.SequenceExample");
  }
}

}  // namespace

sequence_example_parser::sequence_example_parser(feature_map context, feature_map sequences,
                                                 example_options options) {
  if (context.empty() && sequences.empty()) {
    throw failure(errc::invalid_argument, std::string(owner) + ": no features: pass one or more");
  }
  plan_ = std::make_unique<const plan>(std::move(context), std::move(sequences), options);
}

sequence_example_parser::sequence_example_parser(sequence_example_parser&&) noexcept = default;
sequence_example_parser& sequence_example_parser::operator=(sequence_example_parser&&) noexcept =
    default;
sequence_example_parser::~sequence_example_parser() = default;

parsed_sequences sequence_example_parser::parse(std::span<const byte_view> records,
                                                std::span<const std::string_view> names) const {
  detail::check_names(owner, names, records.size());
  std::vector<feature_column> context = plan_->context.make_columns(records.size());
  std::vector<step_column> sequences = make_step_columns(plan_->sequences);
  record_reader reader(plan_->context, plan_->sequences);
  detail::with_record_count(records.size(), [&] {
    for (std::size_t i = 0; i < records.size(); ++i) {
      add_record(records[i], detail::make_record_id(i, names), reader, context, sequences);
    }
  });
  parsed_features::value_map lengths;
  for (auto column = sequences.begin(); const auto& [name, f] : plan_->sequences.features()) {
    if (const auto* rows = std::get_if<detail::row_column>(&*column++)) {
      lengths.emplace(name, rows->lengths());
    }
  }
  return {detail::take_all(plan_->context, context, records.size()),
          detail::take_all(plan_->sequences, sequences, records.size()),
          parsed_features(std::move(lengths))};
}

parsed_sequences sequence_example_parser::parse_one(byte_view record, std::string_view name) const {
  const parsed_sequences batch = parse(std::span(&record, 1), std::span(&name, 1));
  return {detail::drop_record_dimension(batch.context),
          detail::drop_record_dimension(batch.sequences),
          detail::drop_record_dimension(batch.lengths)};
}

}  // namespace LEAT
