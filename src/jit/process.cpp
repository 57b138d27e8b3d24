// posix_spawn with a pipe; the environment is handed on as it is.
#include "jit/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/text.h"

namespace fovea {
namespace {

Error cannot_start(const std::string& program, int failure) {
  return {.status = FOVEA_NO_BACKEND,
          .asked = cat("running ", program),
          .allowed = "a program that can be started",
          .why = std::strerror(failure),
          .hint = "install it, or set CXX to a C++20 compiler"};
}

std::string read_all(int file) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t count = read(file, part, sizeof(part));
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<Finished> run_process(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return cannot_start(arguments[0], errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Finished finished;
  if (failure == 0) {
    finished.output = read_all(pipe_ends[0]);
    finished.exit_code = wait_for(child);
  }
  close(pipe_ends[0]);
  if (failure != 0) return cannot_start(arguments[0], failure);
  return finished;
}

}  // namespace fovea
