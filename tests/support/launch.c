#include "launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMaxWords = 32, kMaxLine = 1024 };

extern char** environ;

static bool spawn(Launch* launch, const char* const* words, int in, int out) {
  const char* argv[kMaxWords] = {BELAY_LAUNCHER};
  for (int i = 0; words[i] != NULL && i < kMaxWords - 2; ++i) {
    argv[i + 1] = words[i];
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int error =
      posix_spawn(&launch->launcher, argv[0], &actions, NULL, (char* const*)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0;
}

// The line that answers each command.
static bool read_answer(Launch* launch) {
  char line[kMaxLine] = "";
  size_t size = 0;
  while (size < sizeof line - 1 && strchr(line, '\n') == NULL) {
    const ssize_t more = read(launch->answers, line + size, sizeof line - 1 - size);
    if (more <= 0) {
      return false;
    }
    size += (size_t)more;
  }
  if (sscanf(line, "%d %d %111s", &launch->pid, &launch->port, launch->socket) != 3) {
    return false;
  }
  snprintf(launch->directory, sizeof launch->directory, "%.*s",
           (int)(strrchr(launch->socket, '/') - launch->socket), launch->socket);
  return true;
}

bool launch_start(Launch* launch, const char* const* words) {
  int commands[2];
  int answers[2];
  if (pipe2(commands, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
    return false;
  }
  *launch = (Launch){.commands = commands[1], .answers = answers[0]};
  const bool spawned = spawn(launch, words, commands[0], answers[1]);
  close(commands[0]);
  close(answers[1]);
  return spawned && read_answer(launch);
}

bool launch_tell(Launch* launch, const char* const* words) {
  char line[kMaxLine];
  int size = 0;
  for (int i = 0; words[i] != NULL; ++i) {
    size += snprintf(line + size, sizeof line - (size_t)size, i == 0 ? "%s" : "\t%s", words[i]);
    if (size >= kMaxLine - 1) {
      return false;
    }
  }
  line[size++] = '\n';
  return write(launch->commands, line, (size_t)size) == size && read_answer(launch);
}

void launch_end(Launch* launch) {
  close(launch->commands);
  close(launch->answers);
  waitpid(launch->launcher, NULL, 0);
}
