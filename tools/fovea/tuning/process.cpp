// A fresh process per measurement: what one kernel leaves behind (a full cache, a sick device, a hang) touches no
// other.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tools/fovea/tuning/measure.h"

extern char** environ;

namespace fovea::cli {
namespace {

Measured no_measurement(std::string why) {
  Measured measured;
  measured.why = std::move(why);
  return measured;
}

// What the process wrote to its standard output.
std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = read(descriptor, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

Measured measure_in_process(std::vector<std::string> arguments, const std::string& tile, int timeout) {
  // coreutils sets the variable and watches the time.
  std::vector<std::string> all = {"env", "-u", "FOVEA_TILE"};
  if (!tile.empty()) all = {"env", "FOVEA_TILE=" + tile};
  all.insert(all.end(), {"timeout", "--signal=KILL", std::to_string(timeout)});
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return no_measurement("no pipe could be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string text = failed == 0 ? read_all(ends[0]) : std::string();
  close(ends[0]);
  if (failed != 0) return no_measurement("no process could be started");
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return measured_from_json(text);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 137) return no_measurement("took longer than " + std::to_string(timeout) + " s, or was killed");
  return no_measurement("its process ended with code " + std::to_string(code));
}

}  // namespace fovea::cli
