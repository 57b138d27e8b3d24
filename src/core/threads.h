// ThreadPool: one pool per Context. run() calls a function once per task index on all threads, the caller included.
#pragma once

#include <cstdint>
#include <memory>

namespace fovea {

class ThreadPool {
 public:
  // `num_threads` counts the caller; 1 starts no thread.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Calls body(context, task, slot) for every task in [0, tasks), tasks handed out in order; slot is in
  // [0, num_threads()). Returns when all are done. Calls from several threads are served one after the other. `body`
  // must not throw.
  using Body = void (*)(void* context, std::int64_t task, int slot);
  void run(std::int64_t tasks, Body body, void* context);

  template <class F>
  void for_each(std::int64_t tasks, F&& f) {
    run(
        tasks, [](void* c, std::int64_t task, int slot) { (*static_cast<F*>(c))(task, slot); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea
