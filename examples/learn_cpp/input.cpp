#include "input.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace {

// One file of five is held out, chosen by its name: the same ones in every run.
bool is_held_out(const std::string& path) { return leat::crc32c(leat::as_bytes(path)) % 5 == 0; }

void divide(const std::vector<std::string>& paths, source::kind kind, sources& into) {
  for (const std::string& path : paths) {
    (is_held_out(path) ? into.held_out : into.training).push_back({path, kind});
  }
}

leat::task<std::vector<std::string>> match(std::vector<std::string> patterns, const char* what) {
  const std::string first = patterns.front();
  auto paths = co_await leat::match_files(std::move(patterns), {.regular_only = true});
  if (paths.empty()) {
    throw leat::failure(leat::errc::not_found, "no " + std::string(what) + " files match " + first);
  }
  co_return paths;
}

constexpr std::size_t lines_in_a_shard = 200'000;

std::string shard_name(const std::string& directory, std::size_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "/lines-%05zu.tfrecord", index);
  return directory + name;
}

}  // namespace

leat::task<sources> find_sources(const options& o) {
  sources found;
  if (!o.shards.empty()) {
    std::vector<std::string> pattern(1, o.shards + "/*.tfrecord");
    divide(co_await match(std::move(pattern), "TFRecord"), source::kind::shard, found);
    if (found.training.empty()) std::swap(found.training, found.held_out);
    if (found.held_out.empty() && found.training.size() > 1) {
      found.held_out.push_back(found.training.back());
      found.training.pop_back();
    }
    co_return found;
  }
  divide(co_await match(cpp_patterns(o), "C++"), source::kind::cpp, found);
  divide(co_await match(c_patterns(o), "C"), source::kind::c, found);
  co_return found;
}

leat::task<std::unique_ptr<source_reader>> source_reader::open(const source& s) {
  auto reader = std::make_unique<source_reader>();
  reader->kind_ = s.what;
  if (s.what == source::kind::shard) {
    reader->records_ = co_await leat::tfrecord_reader::open(s.path);
  } else {
    reader->lines_ = co_await leat::line_reader::open(s.path);
  }
  co_return reader;
}

leat::task<std::vector<sample>> source_reader::next() {
  std::vector<sample> samples;
  bool more = true;
  while (more && samples.empty()) {
    if (records_) {
      more = co_await records_->read_batch(record_batch_);
      for (const leat::byte_view record : record_batch_) {
        const std::string_view text = leat::as_text(record);
        if (!text.empty()) samples.push_back(make_sample(text.substr(1), text[0] == '+'));
      }
    } else {
      more = co_await lines_->read_batch(line_batch_);
      for (const std::string_view line : line_batch_) {
        if (is_useful(line)) samples.push_back(make_sample(line, kind_ == source::kind::cpp));
      }
    }
  }
  co_return samples;
}

std::uint64_t source_reader::bytes_read() const {
  return records_ ? records_->bytes_read() : lines_->bytes_read();
}

leat::task<void> write_shards(const options& o) {
  std::filesystem::create_directories(o.write_shards);
  sources found = co_await find_sources(o);
  std::vector<source> all = std::move(found.training);
  all.insert(all.end(), found.held_out.begin(), found.held_out.end());
  leat::random_engine random(o.seed);
  leat::shuffle(all.begin(), all.end(), random);  // so that every shard holds both languages

  std::size_t shards = 0;
  std::uint64_t lines = 0;
  std::optional<leat::tfrecord_writer> writer;
  for (const source& s : all) {
    auto reader = co_await leat::line_reader::open(s.path);
    leat::line_batch batch;
    for (bool more = true; more;) {
      more = co_await reader->read_batch(batch);
      for (const std::string_view line : batch) {
        if (!is_useful(line)) continue;
        if (!writer)
          writer.emplace(
              co_await leat::tfrecord_writer::open(shard_name(o.write_shards, shards++)));
        std::string record(1, s.what == source::kind::cpp ? '+' : '-');
        record += line;
        co_await writer->write(leat::as_bytes(record));
        ++lines;
        if (writer->records_written() == lines_in_a_shard) {
          co_await writer->close();
          writer.reset();
        }
      }
    }
  }
  if (writer) co_await writer->close();
  std::printf("%llu lines in %zu shards in %s\n", static_cast<unsigned long long>(lines), shards,
              o.write_shards.c_str());
}
