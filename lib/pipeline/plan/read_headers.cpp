#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/internal/error_text.hpp"
#include "codec/csv/internal/csv_text.hpp"
#include "leat/base/bytes.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/pipeline/plan/build_pipeline.hpp"
#include "pipeline/plan/plan_decoder.hpp"

namespace LEAT {
namespace {

std::size_t& skipped(csv_reader_options& how) { return how.skip_header_records; }
std::size_t& skipped(line_reader_options& how) { return how.skip_header_lines; }

std::string header_text(byte_view record) { return std::string(as_text(record)); }
std::string header_text(std::string_view line) { return std::string(line); }

// Returns the last record that the source skips, or nothing if the file ends before it.
template <class Reader>
task<std::optional<std::string>> read_header(std::string path, typename Reader::options_type how) {
  --skipped(how);
  how.corruption = {};
  const auto reader = co_await Reader::open(std::move(path), std::move(how));
  typename Reader::batch_type records;
  while (co_await reader->read_batch(records)) {
    if (!records.empty()) co_return header_text(records[0]);
  }
  co_return std::nullopt;
}

std::string header_excerpt(std::string_view line) {
  constexpr std::size_t most = 80;
  line = detail::without_utf8_mark(line);
  return "'" + std::string(line.substr(0, most)) + (line.size() > most ? "..." : "") + "'";
}

struct file_header {
  std::string path;
  std::string line;
};

// Returns the header of all files, which must be the same.
template <class Reader>
task<std::optional<file_header>> common_header(const file_source<Reader>& source,
                                               std::size_t part) {
  std::optional<file_header> first;
  for (std::string& path : co_await match_files(source.files)) {
    const file_status status = co_await get_status(path);
    if (!status.is_regular) {
      throw plan_error(part, "header", path + ": file can be read only once: give the header line");
    }
    std::optional<std::string> line = co_await read_header<Reader>(path, source.reader);
    if (!line) continue;
    if (!first) {
      first.emplace(file_header{std::move(path), std::move(*line)});
    } else if (detail::without_utf8_mark(*line) != detail::without_utf8_mark(first->line)) {
      throw failure(errc::data_loss, path + ": header differs from " + first->path + ": " +
                                         header_excerpt(*line) + " and " +
                                         header_excerpt(first->line));
    }
  }
  co_return first;
}

}  // namespace

task<void> read_headers(pipeline_plan& plan) {
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    auto* const stage = std::get_if<csv_stage_options>(&plan.stages[i]);
    if (!stage || !stage->has_header_in_files) continue;
    std::optional<file_header> header;
    if (const auto* const csv = std::get_if<file_source<csv_reader>>(&plan.source)) {
      header = co_await common_header(*csv, i + 1);
    } else {
      header = co_await common_header(std::get<file_source<line_reader>>(plan.source), i + 1);
    }
    csv_stage_options read = *stage;
    read.has_header_in_files = false;
    if (header) {  // otherwise there are no records either
      read.header = std::move(header->line);
      try {
        static_cast<void>(detail::make_decoder(read));
      } catch (const failure& e) {
        throw plan_error(i + 1, "", header->path + ": " + detail::without_code_message(e));
      }
    }
    *stage = std::move(read);
  }
}

}  // namespace LEAT
