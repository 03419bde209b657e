/// Micro-batching: a server calls its model once for up to 64 requests. A request that finds no
/// others waits for at most 5 ms.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <leat/async.hpp>
#include <leat/queue.hpp>
#include <leat/sync.hpp>

using namespace std::chrono_literals;

// Stands for a model, for which a batch takes hardly longer than one input.
leat::task<std::vector<float>> run_model(std::vector<float> inputs) {
  co_await leat::sleep_for(2ms);
  for (float& x : inputs) x = 2 * x + 1;
  co_return inputs;
}

//! [server]
struct request {
  float input = 0;
  leat::oneshot<float>::sender reply;
};

leat::task<> serve(leat::fifo_queue<request>& requests) {
  std::vector<request> memory;
  while (auto batch = co_await requests.pop_within(64, 5ms, std::move(memory))) {
    std::vector<float> inputs;
    for (const request& r : *batch) inputs.push_back(r.input);
    const std::vector<float> outputs = co_await run_model(std::move(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) (*batch)[i].reply.send(float{outputs[i]});
    memory = std::move(*batch);
  }
}

leat::task<float> predict(leat::fifo_queue<request>& requests, float input) {
  auto [sender, receiver] = leat::oneshot<float>("prediction");
  request r{input, std::move(sender)};
  const bool accepted = co_await requests.push(std::move(r));
  if (!accepted) throw leat::failure(leat::errc::unavailable, "predict: the queue is closed");
  const auto output = co_await receiver.receive();
  co_return output.value();  // throws if the server has gone
}
//! [/server]

leat::task<> ask(leat::fifo_queue<request>& requests) {
  std::vector<leat::task<float>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(predict(requests, static_cast<float>(i)));
  float sum = 0;
  for (const float x : co_await leat::when_all(std::move(calls))) sum += x;
  std::printf("200 predictions, sum %.0f\n", static_cast<double>(sum));
  requests.close();
}

leat::task<> run() {
  leat::fifo_queue<request> requests(1024, "requests");
  co_await leat::when_all(serve(requests), ask(requests));
}

int main() { return leat::run(run()); }
