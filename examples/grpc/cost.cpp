/// The cost of leat tasks in unary calls: `cost [CALLS]` compares plain callbacks with tasks on the
/// server, on the client and on both. The rounds are interleaved, and the fastest of each form
/// counts. CPU time is that of client and server together.
///
/// The rate and the CPU time are measured with 32 calls in flight, and the latency with one.

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

#include "arguments.hpp"
#include "calls.hpp"
#include "counter.grpc.pb.h"
#include "service.hpp"

namespace {

using example::Counter, example::Number, example::Numbers;
using clock_type = std::chrono::steady_clock;
using methods = Counter::StubInterface::async_interface;

void add_up(const Numbers& request, Number& reply) {
  for (const auto value : request.values()) reply.set_value(reply.value() + value);
}

struct plain_service final : Counter::CallbackService {
  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const Numbers* request,
                                Number* reply) override {
    add_up(*request, *reply);
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

leat::task<> add(const Numbers& request, Number& reply) {
  add_up(request, reply);
  co_return;
}

struct task_service final : Counter::CallbackService {
  explicit task_service(rpc::tasks t) : calls(t) {}
  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const Numbers* request,
                                Number* reply) override {
    return rpc::handle(calls, context, "Add", [=] { return add(*request, *reply); });
  }
  rpc::tasks calls;
};

Numbers two_numbers() {
  Numbers numbers;
  numbers.add_values(1);
  numbers.add_values(2);
  return numbers;
}

// Calls that follow each other; each callback starts the next call.
struct chain {
  Counter::Stub& stub;
  int left;
  std::latch& done;
  Numbers request = {};
  Number reply = {};
  std::unique_ptr<grpc::ClientContext> context = {};

  void start() {
    context = std::make_unique<grpc::ClientContext>();
    request = two_numbers();
    reply.Clear();
    stub.async()->Add(context.get(), &request, &reply, [this](const grpc::Status& status) {
      if (!status.ok() || reply.value() != 3) std::abort();
      if (--left > 0) {
        start();
      } else {
        done.count_down();
      }
    });
  }
};

void call_plainly(Counter::Stub& stub, int chains, int calls) {
  std::latch done(chains);
  std::vector<std::unique_ptr<chain>> all;
  for (int i = 0; i < chains; ++i) all.emplace_back(new chain{stub, calls / chains, done});
  for (const auto& c : all) c->start();
  done.wait();
}

leat::task<> call_in_task(Counter::Stub& stub, int calls) {
  for (int i = 0; i < calls; ++i) {
    const Number sum = co_await rpc::call("Add", stub.async(), &methods::Add, two_numbers());
    if (sum.value() != 3) std::abort();
  }
}

leat::task<> call_in_tasks(Counter::Stub& stub, int chains, int calls) {
  std::vector<leat::task<>> tasks;
  for (int i = 0; i < chains; ++i) tasks.push_back(call_in_task(stub, calls / chains));
  co_await leat::when_all(std::move(tasks));
}

struct served {
  explicit served(grpc::Service& service) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    stub = Counter::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                grpc::InsecureChannelCredentials()));
  }
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Counter::Stub> stub;
};

double cpu_seconds() {  // of all threads
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void measure(int calls) {
  leat::runtime server_thread({.threads = 1}), client_thread({.threads = 1});
  leat::semaphore permits(32, "calls");
  leat::coordinator owner("calls");
  plain_service plain;
  task_service in_tasks({owner, server_thread.get_scheduler(), permits, leat::duration::max()});
  served plain_server(plain), task_server(in_tasks);

  const std::array<const char*, 4> names = {"callbacks", "tasks on the client",
                                            "tasks on the server", "tasks on both"};
  struct cost {
    double call = 1e9, cpu = 1e9, latency = 1e9;  // in seconds
  };
  std::array<cost, 4> best;
  for (int round = 0; round < 2 * 15; ++round) {
    for (std::size_t form = 0; form < 4; ++form) {
      Counter::Stub& stub = form < 2 ? *plain_server.stub : *task_server.stub;
      const bool one = round % 2;
      const int chains = one ? 1 : 32, count = one ? calls / 8 : calls;
      const double cpu = cpu_seconds();
      const auto start = clock_type::now();
      if (form % 2 == 0) {
        call_plainly(stub, chains, count);
      } else {
        client_thread.block_on(call_in_tasks(stub, chains, count));
      }
      const double used = std::chrono::duration<double>(clock_type::now() - start).count();
      cost& c = best[form];
      double& least = one ? c.latency : c.call;
      least = std::min(least, used / count);
      if (!one) c.cpu = std::min(c.cpu, (cpu_seconds() - cpu) / count);
    }
  }
  std::printf("%-20s  %8s %5s  %8s %5s  %10s %5s\n", "", "calls/s", "ratio", "CPU us", "ratio",
              "latency us", "ratio");
  const cost& plainly = best[0];
  for (std::size_t form = 0; form < 4; ++form) {
    const cost& c = best[form];
    std::printf("%-20s  %8.0f %5.2f  %8.1f %5.2f  %10.1f %5.2f\n", names[form], 1 / c.call,
                plainly.call / c.call, c.cpu * 1e6, c.cpu / plainly.cpu, c.latency * 1e6,
                c.latency / plainly.latency);
  }
  plain_server.server->Shutdown();
  task_server.server->Shutdown();
  leat::block_on(owner.join());
}

}  // namespace

int main(int argc, char** argv) try {
  measure(argc > 1 ? static_cast<int>(number_in(argv[1], 10'000'000)) : 8000);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "cost: %s\n", e.what());
  return 1;
}
