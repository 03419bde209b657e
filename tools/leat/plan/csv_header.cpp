// Reads the header lines of CSV files.

#include <optional>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/file/file.hpp>
#include <leat/io/file/match_files.hpp>

#include "input/paths.hpp"
#include "plan/pipeline_plan.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

std::size_t& skipped(leat::csv_reader_options& how) { return how.skip_header_records; }
std::size_t& skipped(leat::line_reader_options& how) { return how.skip_header_lines; }

std::string to_text(leat::byte_view record) { return std::string(leat::as_text(record)); }
std::string to_text(std::string_view line) { return std::string(line); }

// Returns the last record that the source skips, or nothing if the file ends before it.
template <class Reader>
leat::task<std::optional<std::string>> header_line(std::string path,
                                                   typename Reader::options_type how) {
  --skipped(how);
  how.corruption = {};
  const auto reader = co_await Reader::open(std::move(path), std::move(how));
  typename Reader::batch_type records;
  while (co_await reader->read_batch(records)) {
    if (!records.empty()) co_return to_text(records[0]);
  }
  co_return std::nullopt;
}

// A UTF-8 byte order mark does not belong to a name.
std::string_view strip_byte_order_mark(std::string_view line) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return line.starts_with(mark) ? line.substr(mark.size()) : line;
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t most = 80;
  return line.size() <= most ? escape_text(line) : escape_text(line.substr(0, most)) + "...";
}

struct file_header {
  std::string path;
  std::string line;
};

// Returns the header of all files, which must be the same.
template <class Reader>
leat::task<std::optional<file_header>> common_header(const leat::file_source<Reader>& source,
                                                     text_position stage) {
  std::optional<file_header> first;
  for (std::string& path : co_await leat::match_files(source.files)) {
    const leat::file_status status = co_await leat::get_status(path);
    if (!status.is_regular) {
      throw toml_error{stage, fmt::format("header = true cannot read '{}', which can be read only "
                                          "once: give the header line as a text",
                                          escape_text(display_path(path)))};
    }
    std::optional<std::string> line = co_await header_line<Reader>(path, source.reader);
    if (!line) continue;
    if (!first) {
      first.emplace(file_header{std::move(path), std::move(*line)});
    } else if (strip_byte_order_mark(*line) != strip_byte_order_mark(first->line)) {
      throw leat::failure(leat::errc::data_loss,
                          fmt::format("{}: header differs from {}: '{}' and '{}'", path,
                                      first->path, excerpt(strip_byte_order_mark(*line)),
                                      excerpt(strip_byte_order_mark(first->line))));
    }
  }
  co_return first;
}

}  // namespace

leat::task<> read_headers(pipeline_plan& plan) {
  for (stage_plan& stage : plan.stages) {
    auto* const decoder = std::get_if<decoder_plan>(&stage.what);
    if (!decoder || !decoder->for_header) continue;
    std::optional<file_header> header;
    if (const auto* const csv =
            std::get_if<leat::file_source<leat::csv_reader>>(&plan.source.from)) {
      header = co_await common_header(*csv, stage.where);
    } else {
      header = co_await common_header(
          std::get<leat::file_source<leat::line_reader>>(plan.source.from), stage.where);
    }
    if (!header) continue;  // there are no records either
    try {
      decoder->decode = decoder->for_header(header->line);
    } catch (const leat::failure& e) {
      throw toml_error{stage.where, fmt::format("{}: {}", header->path, message_of(e))};
    }
  }
}

}  // namespace tool
