#include "plan/build_pipeline.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <leat/base/error.hpp>
#include <leat/codec/decode_error.hpp>
#include <leat/io/reader/quarantine_log.hpp>
#include <leat/pipeline/read_indexed.hpp>

#include "terminal/output.hpp"
#include "terminal/status.hpp"

namespace tool {
namespace {

// All types of the pipeline between two stages.
using any_pipeline =
    std::variant<leat::pipeline<leat::record_batch>, leat::pipeline<leat::line_batch>,
                 leat::pipeline<leat::record_selection>, leat::pipeline<leat::owned_record_batch>,
                 leat::pipeline<leat::owned_line_batch>,
                 leat::pipeline<std::vector<leat::owned_record_batch>>,
                 leat::pipeline<std::vector<leat::owned_line_batch>>,
                 leat::pipeline<std::vector<column_output>>>;

template <class Pipeline>
using element = typename Pipeline::value_type;

template <class T>
constexpr bool is_view = std::is_same_v<T, leat::byte_view> || std::is_same_v<T, std::string_view>;
template <class T>
constexpr bool is_rows =
    std::is_same_v<T, leat::owned_record_batch> || std::is_same_v<T, leat::owned_line_batch>;

// make_plan() rejects this case.
[[noreturn]] void throw_misplaced_stage() {
  throw leat::failure(leat::errc::internal,
                      "stage does not match the elements of the stage before it");
}

// Adds the position in the file to errors of the library, for all parts of a pipeline.
template <class Make>
any_pipeline with_error_position(text_position where, Make make) {
  try {
    return make();
  } catch (const leat::failure& e) {
    throw toml_error{where, message_of(e)};
  }
}

template <class Reader>
any_pipeline open_source(leat::file_source<Reader> source, leat::pipeline_options options) {
  return leat::read_files(std::move(source), std::move(options));
}

any_pipeline open_source(indexed_source source, leat::pipeline_options options) {
  leat::indexed_reader_options& how = source.reader;
  how.num_epochs = source.num_epochs;
  how.shuffle = source.shuffle;
  how.seed = source.seed;
  how.world = source.world;
  how.name = source.name;
  return leat::read_indexed(std::move(source.files), std::move(how), std::move(options));
}

any_pipeline append_stage(any_pipeline&& p, const leat::shuffle_stage_options& stage) {
  return std::visit([&](auto&& before) -> any_pipeline { return std::move(before).shuffle(stage); },
                    std::move(p));
}

any_pipeline append_stage(any_pipeline&& p, const prefetch_plan& stage) {
  return std::visit(
      [&](auto&& before) -> any_pipeline {
        return std::move(before).prefetch(stage.runs, stage.name);
      },
      std::move(p));
}

any_pipeline append_stage(any_pipeline&& p, const leat::batch_stage_options& stage) {
  return std::visit(
      [&]<class Pipeline>(Pipeline&& before) -> any_pipeline {
        if constexpr (is_view<element<Pipeline>>) {
          return std::move(before).batch(stage);
        } else {
          throw_misplaced_stage();
        }
      },
      std::move(p));
}

std::string format_position(const leat::owned_record_batch& rows, std::size_t i) {
  return leat::format_record_position(rows.position(i));
}
std::string format_position(const leat::owned_line_batch& rows, std::size_t i) {
  return leat::format_line_position(rows.position(i));
}

// Returns the columns of a batch. An error names the stage, the file and the position.
template <class Rows>
column_output decode_batch(const decoder_plan& stage, const Rows& rows) {
  std::vector<leat::byte_view> records;
  records.reserve(rows.size());
  for (const auto row : rows) {
    records.push_back(std::as_bytes(std::span(row.data(), row.size())));
  }
  try {
    return {records.size(), stage.decode(records)};
  } catch (const leat::decode_error& e) {
    throw leat::failure(
        leat::errc::data_loss,
        "stage '" + stage.name + "': " + message_of(e.at(format_position(rows, e.record()))));
  } catch (const leat::failure& e) {
    throw leat::failure(leat::errc::data_loss, "stage '" + stage.name + "': " + message_of(e));
  }
}

any_pipeline append_stage(any_pipeline&& p, const decoder_plan& stage) {
  return std::visit(
      [&]<class Pipeline>(Pipeline&& before) -> any_pipeline {
        using rows = element<Pipeline>;
        if constexpr (is_rows<rows>) {
          return std::move(before).map(
              stage.name, [stage](const rows& batch) { return decode_batch(stage, batch); },
              {.workers = stage.workers});
        } else {
          throw_misplaced_stage();
        }
      },
      std::move(p));
}

// Returns the batch size of records and lines if a plan has no batch stage. A batch is complete
// when it is full, so each record of a live input, such as a pipe, is a batch if it is to be shown.
std::size_t default_batch_size(const pipeline_plan& plan) {
  constexpr std::size_t usual = 64;
  if (plan.output.what == output_plan::kind::count || !output::is_terminal()) return usual;
  const auto is_live = [](const std::string& path) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  };
  return std::ranges::any_of(plan.source.files(), is_live) ? 1 : usual;
}

batched_pipeline to_batched(any_pipeline&& p, std::size_t size) {
  return std::visit(
      [size]<class Pipeline>(Pipeline&& before) -> batched_pipeline {
        if constexpr (is_view<element<Pipeline>>) {
          return std::move(before).batch({.batch_size = size, .name = "output"});
        } else {
          return std::move(before);
        }
      },
      std::move(p));
}

}  // namespace

batched_pipeline build_pipeline(const pipeline_plan& plan, std::vector<leat::scheduler*> workers,
                                const report_function& on_report,
                                const std::shared_ptr<leat::quarantine_log>& log) {
  leat::pipeline_options options = plan.options;
  options.workers = std::move(workers);
  std::optional<any_pipeline> p;
  p.emplace(with_error_position(plan.source.where, [&] {
    return std::visit(
        [&](auto source) {
          source.reader.corruption.on_report = on_report;
          source.reader.corruption.log = log;
          return open_source(std::move(source), std::move(options));
        },
        plan.source.from);
  }));
  for (const stage_plan& stage : plan.stages) {
    p.emplace(with_error_position(stage.where, [&] {
      return std::visit([&](const auto& what) { return append_stage(*std::move(p), what); },
                        stage.what);
    }));
  }
  return to_batched(*std::move(p), default_batch_size(plan));
}

}  // namespace tool
