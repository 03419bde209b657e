// Decodes any bytes. The first two select the options and the columns, and the rest is a record.
// The record is refused, or its fields are equal after quoting all of them, or it has numbers.
// Records cut at the line ends have the results of decoding each alone. As a header, the bytes are
// refused, or the columns that they select, read from the header itself, are their names.

#include "leat/codec/csv/csv_decoder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using leat::csv_column;
using leat::csv_options;

std::vector<csv_column> columns(std::size_t count) {
  return std::vector<csv_column>(count, csv_column::optional(""));
}

// Returns the number of fields that the error message states.
std::size_t fields_of(std::string_view record, const csv_options& options) {
  try {
    static_cast<void>(leat::csv_decoder(columns(1), options).decode_one(record));
    return 1;
  } catch (const leat::decode_error& e) {
    const std::string_view what = e.what();
    constexpr std::string_view before = "number of fields is ";
    const std::size_t at = what.find(before);
    if (at == std::string_view::npos) return 0;
    return static_cast<std::size_t>(std::atol(what.data() + at + before.size()));
  }
}

std::string quoted(const leat::tensor_tuple& fields, char delimiter) {
  std::string record;
  for (const leat::tensor& field : fields) {
    if (!record.empty()) record += delimiter;
    record += '"';
    for (const char c : field.strings()[0]) record.append(c == '"' ? 2 : 1, c);
    record += '"';
  }
  return record;
}

void check_strings(std::string_view record, const csv_options& options) {
  const std::size_t count = fields_of(record, options);
  if (count == 0) return;
  const leat::tensor_tuple fields = leat::csv_decoder(columns(count), options).decode_one(record);
  const csv_options with_quotes = {.delimiter = options.delimiter};
  const leat::csv_decoder again(columns(count), with_quotes);
  if (again.decode_one(quoted(fields, options.delimiter)) != fields) std::abort();
}

template <class T>
void check_numbers(std::string_view record, const csv_options& options) {
  try {
    static_cast<void>(
        leat::csv_decoder({csv_column::required(leat::dtype_of<T>)}, options).decode_one(record));
  } catch (const leat::decode_error&) {
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

// Compares bit by bit, so NaN equals itself.
template <class T>
bool is_row(const leat::tensor& column, std::size_t row, const leat::tensor& value) {
  return std::memcmp(&column.values<T>()[row], &value.values<T>()[0], sizeof(T)) == 0;
}

void check_side_by_side(std::string_view text, csv_options options, bool some_fields) {
  if (some_fields) options.select = {0, 1, 3, 4, 6};
  const leat::csv_decoder decoder(
      {csv_column::optional(std::int32_t{7}), csv_column::optional(std::int64_t{-1}),
       csv_column::optional(0.5F), csv_column::required(leat::dtype::float64),
       csv_column::optional("none")},
      options);
  const std::vector<std::string_view> records = lines_of(text);
  std::vector<leat::tensor_tuple> single;
  std::optional<leat::tensor_tuple> together;
  try {
    together = decoder.decode(records);
  } catch (const leat::decode_error&) {
  }
  try {
    for (const std::string_view record : records) single.push_back(decoder.decode_one(record));
  } catch (const leat::decode_error&) {
    if (together) std::abort();
    return;
  }
  if (!together) std::abort();
  const leat::tensor_tuple& all = *together;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool same =
        is_row<std::int32_t>(all[0], i, single[i][0]) &&
        is_row<std::int64_t>(all[1], i, single[i][1]) && is_row<float>(all[2], i, single[i][2]) &&
        is_row<double>(all[3], i, single[i][3]) && all[4].strings()[i] == single[i][4].strings()[0];
    if (!same) std::abort();
  }
}

std::string_view without_mark_and_line_end(std::string_view header) {
  if (header.starts_with("\xEF\xBB\xBF")) header.remove_prefix(3);
  if (header.ends_with('\n')) header.remove_suffix(1);
  if (header.ends_with('\r')) header.remove_suffix(1);
  return header;
}

void check_header(std::string_view header, csv_options options, bool unnamed, bool select) {
  if (select) options.select = {0, 1};
  std::vector<csv_column> wanted = {csv_column::optional("", "b"), csv_column::optional("", "a")};
  if (unnamed) wanted.push_back(csv_column::optional(""));
  std::optional<leat::csv_decoder> decoder;
  try {
    decoder.emplace(leat::csv_decoder::for_header(header, wanted, options));
  } catch (const leat::failure&) {
    return;
  }
  if (unnamed || select) std::abort();
  const leat::tensor_tuple names = decoder->decode_one(without_mark_and_line_end(header));
  if (names[0].strings()[0] != "b" || names[1].strings()[0] != "a") std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::string_view delimiters = ",;\t x";
  const unsigned how = data[1];
  csv_options options = {.delimiter = delimiters[data[0] % delimiters.size()],
                         .quotes = (how & 1U) == 0};
  const std::string_view record(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((how & 0xE0U) == 0xE0U) {
    check_header(record, options, (how & 2U) != 0, (how & 4U) != 0);
    return 0;
  }
  switch (how >> 3U & 3U) {
    case 0: check_strings(record, options); break;
    case 1:
      check_numbers<std::int32_t>(record, options);
      check_numbers<std::int64_t>(record, options);
      break;
    case 2:
      check_numbers<float>(record, options);
      check_numbers<double>(record, options);
      break;
    default:
      if ((how & 4U) != 0) options.na_value = "-1";
      check_side_by_side(record, options, (how & 2U) != 0);
  }
  return 0;
}
