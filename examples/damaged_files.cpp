// Reads three TFRecord files, one of which is corrupt. The reader skips to the next valid record
// and logs a report. A second reader continues from the saved state of the first.

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

leat::task<> write_records(std::string path, int count) {
  auto writer = co_await leat::tfrecord_writer::open(path);
  for (int i = 0; i < count; ++i) {
    const std::string record = path + ", record " + std::to_string(i);
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
}

void damage(const std::string& path, long offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.put('?');
}

//! [reader]
using reader_type = leat::filename_queue_reader<leat::tfrecord_reader>;

leat::task<leat::tfrecord_reader_options> options(std::string log) {
  leat::tfrecord_reader_options o;
  o.corruption.policy = leat::corruption_policy::resync;  // skip to the next valid record
  o.corruption.max_reports = 10;                          // in all files
  o.corruption.log = co_await leat::quarantine_log::open(log);
  co_return o;
}
//! [/reader]

leat::task<int> read_some(reader_type& reader, int count) {
  int read = 0;
  while (read < count) {
    const auto record = co_await reader.read();
    if (!record) break;
    ++read;
  }
  co_return read;
}

leat::task<int> run(std::string directory) {
  leat::fifo_queue<std::string> files(3, "files");
  for (const char* name : {"/a", "/b", "/c"}) {
    co_await write_records(directory + name, 100);
    if (!co_await files.push(directory + name)) break;
  }
  files.close();
  damage(directory + "/b", 3000);

  const auto how = co_await options(directory + "/quarantine.jsonl");
  //! [resume]
  reader_type first(files, how);
  int read = co_await read_some(first, 150);
  const std::string state = first.serialize_state();  // a few bytes to save with your model

  reader_type second(files, how);  // possibly in another process
  second.restore_state(state);
  read += co_await read_some(second, 1000);
  //! [/resume]
  std::printf("%d records of 300 read, %d bytes of state, %llu report\n", read,
              static_cast<int>(state.size()),
              static_cast<unsigned long long>(first.reports() + second.reports()));
  std::ifstream log(directory + "/quarantine.jsonl");
  std::printf("%s\n", std::string(std::istreambuf_iterator<char>(log), {}).c_str());
  co_return read == 299 ? 0 : 1;
}

}  // namespace

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "leat-XXXXXX").string();
  if (!::mkdtemp(directory.data())) return 1;
  const int status = leat::run(run(directory));
  std::filesystem::remove_all(directory);
  return status;
}
