#include "leat/input/match_filenames_once.hpp"

#include <optional>
#include <utility>

#include "leat/base/detail/assert.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace leat {
namespace {

using paths = std::vector<std::string>;

}  // namespace

struct match_filenames_once::state {
  state(paths p, match_options o) : patterns(std::move(p)), options(o) { put(std::nullopt); }

  void put(std::optional<paths> p) {
    const bool in = found.try_push(std::move(p));
    LEAT_ASSERT(in, "match_filenames_once: the list of paths was stored twice");
  }

  const paths patterns;
  const match_options options;
  // One item: the paths, once they are known. The task that has taken it searches, or copies the
  // paths.
  fifo_queue<std::optional<paths>> found{1, "match_filenames_once"};
};

match_filenames_once::match_filenames_once(std::string pattern, match_options options)
    : match_filenames_once(paths(1, std::move(pattern)), options) {}

match_filenames_once::match_filenames_once(paths patterns, match_options options)
    : state_(std::make_shared<state>(std::move(patterns), options)) {}

task<paths> match_filenames_once::operator()() const { return look_up(state_); }

task<paths> match_filenames_once::look_up(std::shared_ptr<state> s) {
  struct cached_paths_guard {
    state& from;
    std::optional<paths> found;
    ~cached_paths_guard() { from.put(std::move(found)); }
  };
  std::optional<std::optional<paths>> taken = co_await s->found.pop();
  cached_paths_guard l{*s, std::move(*taken)};
  if (!l.found) {
    paths now = co_await match_files(s->patterns, s->options);
    l.found = std::move(now);
  }
  co_return *l.found;
}

}  // namespace leat
