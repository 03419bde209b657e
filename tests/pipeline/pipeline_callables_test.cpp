// Each function of a pipeline accepts each kind of callable.

#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/callables.hpp"
#include "support/leat_test.hpp"

namespace pipeline_callables_test {

struct word {
  std::string text;
  task<> print(std::vector<std::string>& to) const {
    to.push_back(text);
    co_return;
  }
};

/// Returns the elements that a pipeline with one word makes of it.
template <class Add>
std::vector<std::string> results(Add add) {
  std::vector<std::string> made;
  leat::block_on([](auto& out, auto& with) -> task<> {
    leat::fifo_queue<word> queue(1, "words");
    word only{"word"};
    co_await queue.push(std::move(only));
    queue.close();
    auto read = with(leat::read_queue(queue));
    co_await read.for_each([&](const std::string& text) { out.push_back(text); });
  }(made, add));
  return made;
}

const std::vector<std::string> one_word{"word"};

std::string text_of(const word& w) { return w.text; }
std::optional<std::string> text_if(const word& w) { return w.text; }
std::vector<std::string> texts_of(const word& w) { return {w.text}; }

TEST_CASE("pipeline: map and flat_map accept each kind of callable", "[pipeline]") {
  const auto map = [](auto&& f) {
    CHECK(results([&](auto words) {
            return std::move(words).map("text", std::forward<decltype(f)>(f));
          }) == one_word);
  };
  leat_test::with_each_const_callable<&text_of>(map);
  leat_test::with_each_const_callable<&text_if>(map);
  map(&word::text);
  leat_test::with_each_const_callable<&texts_of>([](auto&& f) {
    CHECK(results([&](auto words) {
            return std::move(words).flat_map("texts", std::forward<decltype(f)>(f));
          }) == one_word);
  });
}

int calls = 0;
void count(const word&) { ++calls; }
task<> count_in_task(word) {
  ++calls;
  co_return;
}

struct counted {
  task<> visit() {
    ++calls;
    co_return;
  }
};

/// Reads a queue with one element, and passes it to `f`.
template <class T, class F>
void read_one(F&& f) {
  leat::block_on([](auto& function) -> task<> {
    leat::fifo_queue<T> queue(1, "elements");
    co_await queue.push(T());
    queue.close();
    auto read = leat::read_queue(queue);
    co_await read.for_each(std::forward<F>(function));
  }(f));
}

TEST_CASE("pipeline: for_each accepts each kind of callable", "[pipeline]") {
  const auto read = [](auto&& f) { read_one<word>(std::forward<decltype(f)>(f)); };
  calls = 0;
  leat_test::with_each_callable<&count>(read);
  CHECK(calls == leat_test::callable_kinds);
  calls = 0;
  leat_test::with_each_callable<&count_in_task>(read);
  CHECK(calls == leat_test::callable_kinds);
  calls = 0;
  read_one<counted>(&counted::visit);
  CHECK(calls == 1);
}

}  // namespace pipeline_callables_test
