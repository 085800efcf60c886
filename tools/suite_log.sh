# What the log of a suite says: how many tests passed and failed, which, and why. For tools/test.sh.
# shellcheck shell=bash

# Adds up what the tests in a log have printed of themselves: GoogleTest's, unittest's, Go's and plain `N passed, N failed` lines, or one a test of ctest's
# that prints none. Of plain lines outside of ctest's the last one counts. What was skipped has failed.
tally() { # LOG
  awk '
    { gsub(/\033\[[0-9;]*m/, ""); id = match($0, /^[0-9]+: /) ? substr($0, 1, RLENGTH - 2) : "" }
    id == "" && /^[0-9]+ passed, [0-9]+ failed *$/ { plain_good = $1; plain_bad = $3 }
    id == "" && /^ *[0-9]+\/[0-9]+ Test .*/ { match($0, /#[0-9]+/)
      if (!own[substr($0, RSTART + 1, RLENGTH - 1)]) { if (/ Passed /) ++good; else ++bad } }
    id == "" { next }
    /\[  PASSED  \] [0-9]+ test/ { good += $5; own[id] = 1 }
    /\[  (FAILED|SKIPPED) .*\] [0-9]+ test.*listed below/ { bad += $5; own[id] = 1 }
    /: --- PASS: / { ++good; own[id] = 1 }
    /: --- FAIL: / { ++bad; own[id] = 1 }
    /: Ran [0-9]+ tests? in / { good += $3; own[id] = 1 }
    /: FAILED \(|: OK \(/ { n = split($0, part, /[(,)]/)
      for (i = 2; i <= n; ++i) if (split(part[i], word, "=") == 2) { good -= word[2]; bad += word[2] } }
    / [0-9]+ passed, [0-9]+ failed *$/ { good += $(NF - 3); bad += $(NF - 1); own[id] = 1 }
    END { print good + plain_good, bad + plain_bad }' "$1"
}

# The lines that say what failed, with what stands just before or below them: what is kept of a long output is its end.
explain() { # LOG
  echo "-- $1:"
  grep -aE -B 4 '\[  FAILED  \]|: FAILED |^FAILED |--- FAIL|^(FAIL|ERROR)[: ]|\[ERROR\]|^not ok|WARNING: ThreadSan|ERROR: AddressSan' "$1" | tail -n 40
  grep -aE -A 8 'VIOLATION' "$1" | head -n 40
}

# The name of each test that a log says has failed, once.
failed_tests() { # LOG
  local names
  names=$(sed -nE 's/\x1b\[[0-9;]*m//g; s/^[0-9]+: //; t named
    : named
    s/^FAILED +[0-9]+ ms  (.*)/\1/p; t
    s/^FAILED  (no test saw .*)/\1/p; t
    s/^\[  FAILED  \] ([^ ]+\.[^ ,]+).*/\1/p; t
    s/^(FAIL|ERROR): ([^ ]+) .*/\2/p; t
    s/^ *--- FAIL: ([^ ]+).*/\1/p; t
    s/^not ok [0-9]+ - (.*)/\1/p; t
    s/^failed: (.*)/\1/p; t
    s/^FAILED ([^ (].*)/\1/p' "$1" | sort -u)
  echo "${names:-none of its tests by name}"
}
