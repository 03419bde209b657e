// Decodes records of comma-separated values for csv_fields.py. Each record on standard input has
// its delimiter, the number of its fields (32 bits), its size (32 bits) and its bytes. Standard
// output has the number of decoded fields, and the size and the bytes of each, or UINT32_MAX for a
// refused record.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/codec/csv/csv_decoder.hpp"

namespace {

bool read(std::uint32_t& number) {
  return static_cast<bool>(std::cin.read(reinterpret_cast<char*>(&number), sizeof number));
}

void write(std::uint32_t number) {
  std::cout.write(reinterpret_cast<const char*>(&number), sizeof number);
}

void decode(char delimiter, std::size_t fields, const std::string& record) {
  const leat::csv_decoder decoder(
      std::vector<leat::csv_column>(fields, leat::csv_column::optional("")),
      {.delimiter = delimiter});
  try {
    const leat::tensor_tuple columns = decoder.decode_one(record);
    write(static_cast<std::uint32_t>(columns.count()));
    for (const leat::tensor& column : columns) {
      const std::string_view text = column.strings()[0];
      write(static_cast<std::uint32_t>(text.size()));
      std::cout << text;
    }
  } catch (const leat::decode_error&) {
    write(UINT32_MAX);
  }
}

}  // namespace

int main() {
  std::uint32_t fields = 0;
  std::uint32_t size = 0;
  for (char delimiter = 0; std::cin.get(delimiter);) {
    if (!read(fields) || !read(size)) return 1;
    std::string record(size, '\0');
    if (!std::cin.read(record.data(), size)) return 1;
    decode(delimiter, fields, record);
  }
}
