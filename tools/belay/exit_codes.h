// The exit codes of the belay command: those of flock(1), sysexits.h and the shells, where they
// mean the same. A command that was run passes on its own code, or 128 + the number of the signal
// that ended it.
#ifndef BELAY_TOOLS_EXIT_CODES_H
#define BELAY_TOOLS_EXIT_CODES_H

#include <cstdint>

enum ExitCode : std::uint8_t {
  kExitOk = 0,
  kExitConflict = 1,  // somebody else holds the lock (-n, -w); -E chooses another code
  kExitUsage = 64,
  kExitMissing = 66,      // there is no such latch
  kExitUnavailable = 69,  // the server cannot be reached, or refuses us
  kExitOsError = 71,      // this host cannot: no process, no descriptor
  kExitIoError = 74,      // the output could not be written
  kExitLost = 75,  // the lock was lost, or the command was stopped because it was about to be
  kExitNotExecutable = 126,
  kExitNotFound = 127,
  kExitSignal = 128  // + the number of the signal
};

#endif
