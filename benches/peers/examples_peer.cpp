// Examples into columns by protobuf's generated code; the message is used again.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "example.pb.h"
#include "support/bench.hpp"
#include "support/page_cache.hpp"
#include "support/record_loop.hpp"

namespace {

struct columns {
  std::vector<float> features;
  std::vector<std::string> images;
  std::vector<std::int64_t> labels;
};

std::size_t decode(const std::string& path) {
  leat::oracle::Example message;
  columns rows;
  std::size_t bytes = 0;
  bench::for_each_record(path, [&](const char* data, std::size_t size) {
    if (rows.labels.size() == 256) rows = {};
    if (!message.ParseFromArray(data, static_cast<int>(size))) std::abort();
    auto& all = *message.mutable_features()->mutable_feature();
    const auto& features = all.at("features").float_list().value();
    rows.features.insert(rows.features.end(), features.begin(), features.end());
    rows.images.push_back(std::move(*all.at("image").mutable_bytes_list()->mutable_value(0)));
    rows.labels.push_back(all.at("label").int64_list().value(0));
    bytes += size + 16;
  });
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "protobuf", [&] {
    std::size_t bytes = 0;
    for (const std::string& path : bench::files_at(r.file)) bytes += decode(path);
    return bytes;
  });
}
