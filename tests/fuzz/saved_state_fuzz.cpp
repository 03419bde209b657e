// Restores any bytes as a saved state: of a pipeline, of one of its readers, or of an appender. A
// refusal has a documented error code, names the object that refuses, and changes nothing. A
// restored object continues, ends, and saves an equal state. The first byte selects the object, and
// the second the number of elements to read before the next save.
//
// The corpus holds valid states. If a stage gets a new option, these states belong to another
// pipeline, and the coverage decreases. The mutator therefore starts from newly saved states.

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/in_memory.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/saved_pipelines.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/input/filename_queue_reader.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/pipeline/source/detail/indexed_state.hpp"

#if LEAT_ASAN
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace {

using leat::errc;
using leat::task;
using leat::sim::world;
using leat_test::declare_batches;
using leat_test::declare_files;
using leat_test::declare_index_by_files;
using leat_test::require;
using leat_test::write_files;
using texts = std::vector<std::string>;

constexpr std::size_t prefix = 2;
constexpr std::size_t most_elements = 60;  // in a compared stream

enum kind {
  of_files,
  of_batches,
  of_index,
  of_file_ranks,
  of_index_ranks,
  of_reader,
  of_queue,
  of_note,
  of_batch_ranks,
  of_owned_ranks
};
constexpr unsigned kinds = 10;

bool has_checksum(unsigned what) { return what <= of_index_ranks || what >= of_batch_ranks; }
bool has_several(unsigned what) {
  return (what >= of_file_ranks && what <= of_reader) || what >= of_batch_ranks;
}

auto declare_index(std::uint64_t rank, std::uint64_t world_size) {
  return leat_test::declare_index(rank, world_size);
}

// While it lives, allocations stay in proportion to the number of bytes read, regardless of the
// numbers in them. It is active only with the address sanitizer.
class in_proportion {
 public:
  explicit in_proportion(std::size_t bytes) : limit_(allocated + 4096 * (bytes + 16)) {
#if LEAT_ASAN
    static const int hooks = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t size) { allocated += size; },
        [](const volatile void*) {});
    require(hooks > 0);
#endif
  }
  in_proportion(const in_proportion&) = delete;
  in_proportion& operator=(const in_proportion&) = delete;
  ~in_proportion() { require(allocated <= limit_); }

 private:
  static inline std::size_t allocated = 0;
  std::size_t limit_;
};

// ------------------------------------------------------------------------------------ the states

// Splits the bytes into several states. Each follows a length of two bytes.
texts split(std::string_view bytes) {
  texts all;
  while (bytes.size() > 2 && all.size() < 4) {
    const std::size_t size = leat::load_little_endian<std::uint16_t>(leat::as_bytes(bytes).data());
    bytes.remove_prefix(2);
    all.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  return all;
}

std::string joined(const texts& all) {
  std::string bytes;
  for (const std::string& one : all) {
    bytes += static_cast<char>(one.size() & 255);
    bytes += static_cast<char>(one.size() >> 8);
    bytes += one;
  }
  return bytes;
}

// -------------------------------------------------------------------------------- what must hold

// The refusal of a state; empty if the state was accepted.
struct refusal {
  std::error_code code;
  std::string what;
};

template <class Restore>
task<std::optional<refusal>> refusal_of(const Restore& restore) {
  try {
    co_await restore();
  } catch (const leat::failure& e) {
    co_return refusal{e.code(), e.what()};
  }
  co_return std::nullopt;
}

// At most a given number of elements, and the error after them.
struct stream {
  texts elements = {};
  std::string error = {};
  bool ended = false;

  friend bool operator==(const stream&, const stream&) = default;
};

template <class Pipeline>
task<stream> read(Pipeline& p, std::size_t count) {
  stream s;
  try {
    while (s.elements.size() < count && !s.ended) {
      std::optional<std::string> next = co_await p.next();
      if (next) {
        s.elements.push_back(std::move(*next));
      } else {
        s.ended = true;
      }
    }
  } catch (const leat::failure& e) {
    require(e.code().category() == leat::error_category());
    s.error = e.what();
  }
  co_return s;
}

template <class Pipeline>
task<void> go_on(Pipeline& p, std::string state) {
  co_await p.restore(state);
  require(p.save() == state);
}

void check_refusal(const refusal& r) {
  const bool documented = r.code == errc::invalid_argument || r.code == errc::data_loss ||
                          r.code == errc::failed_precondition || r.code == errc::unimplemented;
  const bool names = r.what.find("pipeline 'fuzz'") != std::string::npos ||
                     r.what.find("stage '") != std::string::npos ||
                     r.what.starts_with("indexed_reader: ") || r.what.starts_with("/");
  if (documented && names) return;
  std::cerr << "refused otherwise than documented: " << r.what << '\n';
  std::abort();
}

// Joins the elements of a stream that continues at the saved position of another one.
stream joined(stream first, stream then) {
  for (std::string& element : then.elements) first.elements.push_back(std::move(element));
  first.ended = then.ended;
  first.error = std::move(then.error);
  return first;
}

template <class Make>
task<void> check_pipeline(Make make, const texts& states, bool ranks, std::size_t some) {
  auto p = make(0, 1);
  const std::string fresh = p.save();
  const auto restore = [&]() -> task<> {
    if (ranks) co_await p.restore_ranks(states);
    if (!ranks) co_await p.restore(states.front());
  };
  const std::optional<refusal> refused = co_await refusal_of(restore);
  if (refused) {
    check_refusal(*refused);
    require(p.save() == fresh);
    co_await p.stop();
    co_return;
  }
  const std::string state = p.save();
  auto same = make(0, 1);
  co_await go_on(same, state);
  const stream all = co_await read(same, most_elements);
  co_await same.stop();

  const stream first = co_await read(p, some);
  const std::string later = p.save();
  co_await p.stop();
  if (!first.error.empty()) {
    require(all == first);
    co_return;
  }
  auto rest = make(0, 1);
  co_await go_on(rest, later);
  const stream then = co_await read(rest, most_elements - first.elements.size());
  co_await rest.stop();
  require(joined(first, then) == all);
}

void check_bytes(std::string_view bytes) {
  const in_proportion memory(bytes.size());
  std::vector<leat::detail::saved_stage> stages;
  try {
    stages = leat::detail::stages_from_bytes(bytes, "fuzz");
  } catch (const leat::failure& e) {
    check_refusal({e.code(), e.what()});
    return;
  }
  require(leat::detail::stages_to_bytes(stages) == bytes);
}

// Merges one state of each rank. The remaining records are a state too, and a reader resumes from
// it.
task<void> check_reader(const texts& states, std::size_t some) {
  std::vector<leat::indexed_reader_state> ranks;
  std::optional<in_proportion> memory(joined(states).size());
  try {
    for (const std::string& bytes : states) {
      ranks.push_back(leat::indexed_reader_state::from_bytes(bytes, "fuzz"));
      require(ranks.back().to_bytes() == bytes);
    }
  } catch (const leat::failure& e) {
    require(e.code() == errc::invalid_argument || e.code() == errc::unimplemented);
    require(std::string_view(e.what()).starts_with("fuzz: state cannot be restored: "));
    co_return;
  }
  leat::indexed_reader_state left;
  try {
    left = leat::indexed_reader_state::reshard(ranks, std::array<std::uint64_t, 2>{5, 3},
                                               leat::shard_remainder::keep, "fuzz");
  } catch (const leat::failure& e) {
    require(e.code() == errc::failed_precondition);
    co_return;
  }
  memory.reset();
  const std::string bytes = left.to_bytes();
  require(leat::indexed_reader_state::from_bytes(bytes, "fuzz") == left);

  const auto open = [by = left.by] {
    texts paths = {"/records/a", "/records/b"};
    return leat::indexed_reader::open(
        std::move(paths), {.num_epochs = 3, .seed = 5, .shard = {.by = by}, .name = "fuzz"});
  };
  const auto reader = co_await open();
  const std::string fresh = reader->serialize_state();
  const auto restore = [&]() -> task<> {
    reader->restore_state(bytes);
    co_return;
  };
  const std::optional<refusal> refused = co_await refusal_of(restore);
  if (refused) {
    require(refused->code == errc::failed_precondition && refused->what.starts_with("fuzz: "));
    require(reader->serialize_state() == fresh);
    co_return;
  }
  left.world_size = 1;  // only one rank restores it
  require(reader->serialize_state() == left.to_bytes());
  leat::record_selection batch;
  std::size_t batches = 0;
  for (bool more = true; more && batches < 1 + some; ++batches) {
    more = co_await reader->read_batch(batch);
  }
  const auto again = co_await open();
  again->restore_state(reader->serialize_state());
  require(again->serialize_state() == reader->serialize_state());
}

// Resumes from a state, and then reads the names in the queue.
template <class Reader>
task<void> check_queue(const std::string& bytes, std::size_t some,
                       typename Reader::options_type options = {}) {
  leat::fifo_queue<std::string> names(4);
  for (const char* name : {"/lines/c", "/records/b"}) require(names.try_push(name));
  names.close();
  leat::filename_queue_reader<Reader> reader(names, options, "fuzz");
  const std::string fresh = reader.serialize_state();
  const auto restore = [&]() -> task<> {
    reader.restore_state(bytes);
    co_return;
  };
  const std::optional<refusal> refused = co_await refusal_of(restore);
  if (refused) {
    require(refused->code == errc::invalid_argument);
    require(refused->what.starts_with("fuzz: state cannot be restored: "));
    require(reader.serialize_state() == fresh);
    co_return;
  }
  require(reader.serialize_state() == bytes);
  std::string state;
  for (std::size_t i = 0; i < most_elements; ++i) {
    if (i == some) state = reader.serialize_state();
    bool more = false;
    const auto next = [&]() -> task<> {
      const std::optional<leat::keyed_record> record = co_await reader.read();
      more = record.has_value();
    };
    const std::optional<refusal> failed = co_await refusal_of(next);
    if (failed || !more) break;
  }
  if (state.empty()) state = reader.serialize_state();
  leat::filename_queue_reader<Reader> other(names, options, "fuzz");
  other.restore_state(state);
  require(other.serialize_state() == state);
}

// A valid note truncates its file, and an invalid note leaves the file unchanged.
task<void> check_note(world& w, const std::string& note) {
  const std::string before = *w.files().read_file("/records/a");
  w.files().write_file("/records/a.append", note);
  const auto roll_back = []() -> task<> {
    const bool was = co_await leat::roll_back_append("/records/a");
    require(was);
  };
  const std::optional<refusal> refused = co_await refusal_of(roll_back);
  const std::string after = *w.files().read_file("/records/a");
  require(before.starts_with(after));
  require(w.files().read_file("/records/a.append").has_value() == refused.has_value());
  if (refused) {
    require(refused->code == errc::data_loss && refused->what.starts_with("/records/a"));
    require(after == before);
  } else if (after != before) {
    require(note == std::to_string(after.size()) + '\n' || note.starts_with('0'));
  }
}

// ------------------------------------------------------------------------------------- the bytes

std::string with_checksum(std::string content) {
  std::array<std::byte, 4> sum;
  leat::store_little_endian(sum.data(), leat::crc32c(leat::as_bytes(content)));
  content += '\x7d';
  return content.append(reinterpret_cast<const char*>(sum.data()), sum.size());
}

// Returns the state of a rank that is saved after `elements` elements.
template <class Pipeline>
std::string saved(Pipeline p, std::size_t elements) {
  std::string state;
  world w(1);
  w.run([&](world& here) -> task<> {
    write_files(here);
    static_cast<void>(co_await read(p, elements));
    state = p.save();
    co_await p.stop();
  });
  return state;
}

texts fresh_states(unsigned what, leat::random_engine& random) {
  const auto some = [&random] { return static_cast<std::size_t>(random.uniform_below(14)); };
  switch (what) {
    case of_files: return {saved(declare_files(0, 1), some())};
    case of_batches: return {saved(declare_batches(0, 1), some())};
    case of_index: return {saved(declare_index(0, 1), some())};
    case of_file_ranks:
      return {saved(declare_files(0, 2), some()), saved(declare_files(1, 2), some())};
    case of_batch_ranks:
      return {saved(declare_batches(0, 2), some()), saved(declare_batches(1, 2), some())};
    case of_index_ranks:
      return {saved(declare_index(0, 2), some()), saved(declare_index(1, 2), some())};
    case of_owned_ranks:
      return {saved(declare_index_by_files(0, 2), some()),
              saved(declare_index_by_files(1, 2), some())};
    case of_reader: {
      texts all;
      for (const std::uint64_t rank : {0U, 1U}) {
        const std::string state = saved(declare_index(rank, 2), some());
        const auto source = leat::detail::stages_from_bytes(state, "fuzz").front();
        leat::detail::indexed_state own;
        own.read(source.own, source.settings);
        all.push_back(own.reader);
      }
      return all;
    }
    case of_queue:
      return {leat::reader_state{.work_started = 2,
                                 .work_finished = 1,
                                 .num_records_produced = some(),
                                 .current_work = "/lines/a",
                                 .at = leat::reader_position{.offset = 4, .index = 2}}
                  .to_bytes()};
    default: return {std::to_string(random.uniform_below(60)) + '\n'};
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  leat::random_engine random(seed);
  if (size <= prefix || random.uniform_below(8) == 0) size = LLVMFuzzerMutate(data, size, max_size);
  if (size < prefix || max_size <= prefix) return size;
  const unsigned what = data[0] % kinds;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + prefix, size - prefix);
  texts states = has_several(what) ? split(bytes) : texts{std::string(bytes)};
  const bool is_fresh = states.empty() || states.front().empty() || random.uniform_below(64) == 0;
  if (is_fresh) states = fresh_states(what, random);
  if (!is_fresh || random.uniform_below(2) == 0) {
    std::string& one = states[static_cast<std::size_t>(random.uniform_below(states.size()))];
    if (has_checksum(what) && one.size() > 5 && random.uniform_below(16) != 0) {
      one = with_checksum(leat_test::mutate_message(one.substr(0, one.size() - 5), random));
    } else {
      one = leat_test::mutate_message(one, random);
    }
  }
  const std::string made = has_several(what) ? joined(states) : states.front();
  const std::size_t kept = std::min(made.size(), max_size - prefix);
  std::copy_n(made.begin(), kept, reinterpret_cast<char*>(data) + prefix);
  return prefix + kept;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < prefix) return 0;
  const unsigned what = data[0] % kinds;
  const std::size_t some = data[1] % 16;
  const std::string bytes(reinterpret_cast<const char*>(data) + prefix, size - prefix);
  const texts states = has_several(what) ? split(bytes) : texts{bytes};
  if (states.empty() && what == of_reader) return 0;
  if (has_checksum(what)) {
    for (const std::string& state : states) check_bytes(state);
  }
  world w(1, {.max_steps = 200'000});  // no pipeline needs more
  w.run([&](world& here) -> task<> {
    write_files(here);
    switch (what) {
      case of_files: return check_pipeline(declare_files, states, false, some);
      case of_batches: return check_pipeline(declare_batches, states, false, some);
      case of_index: return check_pipeline(declare_index, states, false, some);
      case of_file_ranks: return check_pipeline(declare_files, states, true, some);
      case of_index_ranks: return check_pipeline(declare_index, states, true, some);
      case of_batch_ranks: return check_pipeline(declare_batches, states, true, some);
      case of_owned_ranks: return check_pipeline(declare_index_by_files, states, true, some);
      case of_reader: return check_reader(states, some);
      case of_note: return check_note(here, bytes);
      default: break;
    }
    switch (data[1] / 16 % 3) {
      case 0: return check_queue<leat::tfrecord_reader>(bytes, some);
      case 1: return check_queue<leat::line_reader>(bytes, some, {.skip_header_lines = 1});
      default: return check_queue<leat::line_reader>(bytes, some);
    }
  });
  return 0;
}
