#include "input.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace {

// Holds out about one file in five. The path decides, so every run holds out the same files.
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
  if (found.training.empty()) {
    throw leat::failure(leat::errc::not_found,
                        "every file is held out and none is left for training: pass --cpp and "
                        "--c directories with more files");
  }
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
  return records_ ? records_->position().offset : lines_->position().offset;
}

namespace {

// Writes records to consecutive shards.
class shard_writer {
 public:
  explicit shard_writer(std::string directory) : directory_(std::move(directory)) {}

  leat::task<void> write(std::string record) {
    if (!writer_) {
      writer_.emplace(co_await leat::tfrecord_writer::open(shard_name(directory_, shards_++)));
    }
    co_await writer_->write(leat::as_bytes(record));
    ++lines_;
    if (writer_->records_written() == lines_in_a_shard) co_await close();
  }

  // Closes the last shard, and removes shards with higher numbers that an earlier run has left.
  leat::task<void> finish() {
    if (writer_) co_await close();
    for (std::size_t i = shards_; std::filesystem::exists(shard_name(directory_, i)); ++i) {
      co_await leat::remove_file(shard_name(directory_, i));
    }
  }

  [[nodiscard]] std::size_t shards() const { return shards_; }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  leat::task<void> close() {
    co_await writer_->close();
    writer_.reset();
  }

  const std::string directory_;
  std::size_t shards_ = 0;
  std::uint64_t lines_ = 0;
  std::optional<leat::tfrecord_writer> writer_;
};

leat::task<void> write_lines(const source& s, shard_writer& out) {
  auto reader = co_await leat::line_reader::open(s.path);
  leat::line_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) {
      if (!is_useful(line)) continue;
      std::string record(1, s.what == source::kind::cpp ? '+' : '-');
      record += line;
      co_await out.write(std::move(record));
    }
  }
}

}  // namespace

leat::task<void> write_shards(const options& o) {
  std::filesystem::create_directories(o.write_shards);
  sources found = co_await find_sources(o);
  std::vector<source> all = std::move(found.training);
  all.insert(all.end(), found.held_out.begin(), found.held_out.end());
  leat::random_engine random(o.seed);
  leat::shuffle(all.begin(), all.end(), random);  // so that every shard holds both languages

  shard_writer out(o.write_shards);
  std::uint64_t skipped = 0;
  for (const source& s : all) {
    std::string why;
    try {
      co_await write_lines(s, out);
    } catch (const leat::failure& e) {
      if (!o.skip_bad_files || e.code() == leat::errc::cancelled) throw;
      why = e.what();
    }
    if (why.empty()) continue;
    ++skipped;
    std::fprintf(stderr, "learn_cpp: skipped: %s\n", why.c_str());
  }
  co_await out.finish();
  std::printf("%llu lines in %zu shards in %s\n", static_cast<unsigned long long>(out.lines()),
              out.shards(), o.write_shards.c_str());
  if (skipped > 0)
    std::printf("%llu files were skipped.\n", static_cast<unsigned long long>(skipped));
}
