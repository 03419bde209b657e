#include "pipeline/plan/plan_decoder.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/csv/csv_decoder.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/decode_raw.hpp"
#include "leat/codec/example/decode_json_example.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"

namespace LEAT::detail {
namespace {

using planned_columns = std::vector<planned_batch::column>;

feature_map map_of(const std::vector<named_feature>& features) {
  feature_map all;
  for (const auto& [name, what] : features) {
    if (!all.emplace(name, what).second)
      throw failure(errc::invalid_argument, "feature '" + name + "' occurs twice");
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<named_feature>& features) {
  std::vector<std::string> names;
  for (const named_feature& f : features) names.push_back(f.name);
  return names;
}

// Appends the columns in the order of the plan.
void append_columns(const parsed_features& parsed, const std::vector<std::string>& names,
                    planned_columns& to) {
  for (const std::string& name : names) to.push_back({name, parsed.values().at(name)});
}

}  // namespace

plan_decoder make_decoder(const csv_stage_options& stage) {
  const auto decoder = std::make_shared<const csv_decoder>(
      stage.header ? csv_decoder::for_header(*stage.header, stage.columns, stage.csv)
                   : csv_decoder(stage.columns, stage.csv));
  return [decoder](std::span<const byte_view> records) {
    tensor_tuple decoded = decoder->decode(records);
    const std::vector<std::string> names(decoded.names().begin(), decoded.names().end());
    planned_columns all;
    for (tensor& t : std::move(decoded).take()) {
      all.push_back({names.empty() ? std::string() : names[all.size()], std::move(t)});
    }
    return all;
  };
}

plan_decoder make_decoder(const example_stage_options& stage) {
  const auto parser = std::make_shared<const example_parser>(map_of(stage.features));
  return [parser, is_json = stage.is_json,
          names = names_of(stage.features)](std::span<const byte_view> records) {
    tensor messages;  // owns what `serialized` refers to
    std::vector<byte_view> serialized;
    if (is_json) {
      std::vector<std::string_view> texts;
      for (const byte_view record : records) texts.push_back(as_text(record));
      messages = decode_json_example(tensor::of({static_cast<std::int64_t>(texts.size())},
                                                std::span<const std::string_view>(texts)));
      for (const std::string_view message : messages.strings())
        serialized.push_back(as_bytes(message));
      records = serialized;
    }
    planned_columns all;
    append_columns(parser->parse(records), names, all);
    return all;
  };
}

plan_decoder make_decoder(const sequence_example_stage_options& stage) {
  const auto parser = std::make_shared<const sequence_example_parser>(map_of(stage.context),
                                                                      map_of(stage.sequences));
  std::vector<std::string> lengths;
  for (const auto& [name, what] : stage.sequences) {
    if (std::holds_alternative<fixed_len_sequence_feature>(what)) lengths.push_back(name);
  }
  return [parser, lengths, context = names_of(stage.context),
          sequences = names_of(stage.sequences)](std::span<const byte_view> records) {
    const parsed_sequences parsed = parser->parse(records);
    planned_columns all;
    append_columns(parsed.context, context, all);
    append_columns(parsed.sequences, sequences, all);
    const std::size_t others = all.size();
    append_columns(parsed.lengths, lengths, all);
    for (std::size_t i = others; i < all.size(); ++i) all[i].name += length_suffix;
    return all;
  };
}

plan_decoder make_decoder(const raw_stage_options& stage) {
  static_cast<void>(decode_raw(std::span<const byte_view>(), stage.type, stage.raw));  // checks it
  return [column = std::string(stage.column), type = stage.type,
          options = stage.raw](std::span<const byte_view> records) {
    planned_columns all;
    all.push_back({column, decode_raw(records, type, options)});
    return all;
  };
}

planned_batch decode_batch(const plan_decoder& decode, const std::string& stage,
                           const planned_batch& batch) {
  try {
    return {batch.size(), decode(batch.views())};
  } catch (const decode_error& e) {
    throw failure(errc::data_loss, "stage '" + stage + "': " +
                                       without_code_message(e.at(batch.position_text(e.record()))));
  } catch (const failure& e) {
    throw failure(errc::data_loss, "stage '" + stage + "': " + without_code_message(e));
  }
}

std::string title_of_stage(const pipeline_plan& plan, std::size_t part) {
  return "stage " + std::to_string(part) + " of kind '" +
         std::string(plan_stage_kinds[plan.stages[part - 1].index()]) + "'";
}

}  // namespace LEAT::detail
