// ThreadPool with one shared task counter: workers take the next index until none is left, spin a while for the next
// call, then sleep.
#include "core/threads.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fovea {
namespace {

// Attention calls come in bursts: a worker spins about this many rounds for the next one before it sleeps.
constexpr int kSpinRounds = 4000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

struct ThreadPool::State {
  std::mutex callers;
  std::vector<std::thread> workers;

  // One call. Written by the caller while `running` is 0, read by workers that saw the new generation.
  Body body = nullptr;
  void* context = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};
  std::atomic<int> running{0};
  std::atomic<std::uint32_t> generation{0};
  std::atomic<bool> stop{false};

  void work(int slot) {
    for (std::int64_t task = next.fetch_add(1); task < tasks; task = next.fetch_add(1)) body(context, task, slot);
  }

  void worker(int slot) {
    std::uint32_t seen = 0;
    while (true) {
      for (int round = 0; generation.load() == seen && round < kSpinRounds; ++round) relax();
      generation.wait(seen);
      if (stop.load()) return;
      seen = generation.load();
      work(slot);
      if (running.fetch_sub(1) == 1) running.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  for (int slot = 1; slot < num_threads; ++slot)
    state_->workers.emplace_back([s = state_.get(), slot] { s->worker(slot); });
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  state_->generation.fetch_add(1);
  state_->generation.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::num_threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(std::int64_t tasks, Body body, void* context) {
  State& s = *state_;
  const std::scoped_lock lock(s.callers);
  s.body = body;
  s.context = context;
  s.tasks = tasks;
  s.next.store(0);
  if (tasks <= 1 || s.workers.empty()) {
    s.work(0);
    return;
  }
  s.running.store(static_cast<int>(s.workers.size()));
  s.generation.fetch_add(1);
  s.generation.notify_all();
  s.work(0);
  for (int left = s.running.load(); left != 0; left = s.running.load()) {
    for (int round = 0; s.running.load() == left && round < kSpinRounds; ++round) relax();
    s.running.wait(left);
  }
}

}  // namespace fovea
