#include "soak/data_set.hpp"

#include <charconv>
#include <fstream>

#include "leat/codec/tfrecord/tfrecord.hpp"

namespace soak {
namespace {

std::string lines_of(input_file& f, bool damaged, leat::random_engine& random) {
  if (damaged) f.good = random.uniform_below(f.count);
  std::string text;
  for (std::uint64_t i = 0; i < f.count; ++i) {
    if (damaged && i == f.good) text.append(max_line_size + 1, 'x');
    text += text_of(f.first + i) + (random.uniform_below(2) == 0 ? "\n" : "\r\n");
  }
  return text;
}

std::string records_of(input_file& f, bool damaged, leat::random_engine& random) {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> begins;
  for (std::uint64_t i = 0; i < f.count; ++i) {
    begins.push_back(bytes.size());
    leat::append_tfrecord(bytes, leat::as_bytes(text_of(f.first + i)));
  }
  if (damaged) {
    f.good = random.uniform_below(f.count);
    const std::size_t begin = begins[f.good];
    const std::size_t end = f.good + 1 < f.count ? begins[f.good + 1] : bytes.size();
    const std::size_t at = begin + static_cast<std::size_t>(random.uniform_below(end - begin));
    if (random.uniform_below(3) == 0 && at > begin) {
      bytes.resize(at);
    } else {
      bytes[at] ^= static_cast<std::byte>(1U << random.uniform_below(8));
    }
  }
  return std::string(leat::as_text(bytes));
}

void write(input_file& f, bool damaged, leat::random_engine& random) {
  f.good = f.count;
  std::ofstream(f.path, std::ios::binary)
      << (f.what == input_file::kind::lines ? lines_of(f, damaged, random)
                                            : records_of(f, damaged, random));
}

}  // namespace

std::string text_of(std::uint64_t number) {
  leat::random_engine random(number);
  const auto size =
      random.uniform_below(50) == 0 ? random.uniform_below(3000) : random.uniform_below(60);
  return std::to_string(number) + ":" +
         std::string(static_cast<std::size_t>(size), static_cast<char>('a' + number % 26));
}

std::vector<input_file> make_files(const std::string& directory, leat::random_engine& random) {
  std::vector<input_file> files(static_cast<std::size_t>(1 + random.uniform_below(8)));
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    input_file& f = files[i];
    f.what = random.uniform_below(2) == 0 ? input_file::kind::lines : input_file::kind::records;
    f.path = directory + "/" + std::to_string(i) + ".in";
    f.first = first;
    f.count = random.uniform_below(8) == 0 ? 0 : random.uniform_below(600);
    first += f.count;
    const bool damaged = f.count > 0 && random.uniform_below(6) == 0;
    write(f, damaged, random);
  }
  return files;
}

void mend(input_file& f, leat::random_engine& random) { write(f, false, random); }

bool ledger::count(std::atomic<std::uint32_t>* counters, std::string_view text) const {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (number >= size_ || text != text_of(number)) return false;
  ++counters[number];
  return true;
}

}  // namespace soak
