// Any bytes: the first two choose delimiter and quotes, the rest is a record. Refused, or fields
// that come back the same from a record in which all of them are quoted.

#include "leat/codec/csv_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using leat::csv_column;
using leat::csv_options;

std::vector<csv_column> columns(std::size_t count) {
  return std::vector<csv_column>(count, csv_column::optional(""));
}

// As many as the message of an error tells.
std::size_t fields_of(std::string_view record, const csv_options& options) {
  try {
    static_cast<void>(leat::csv_decoder(columns(1), options).decode_one(record));
    return 1;
  } catch (const leat::decode_error& e) {
    const std::string_view what = e.what();
    constexpr std::string_view before = "the number of fields is ";
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::string_view delimiters = ",;\t x";
  const csv_options options = {.delimiter = delimiters[data[0] % delimiters.size()],
                               .quotes = data[1] % 2 == 0};
  const std::string_view record(reinterpret_cast<const char*>(data) + 2, size - 2);
  check_strings(record, options);
  check_numbers<std::int32_t>(record, options);
  check_numbers<std::int64_t>(record, options);
  check_numbers<float>(record, options);
  check_numbers<double>(record, options);
  return 0;
}
