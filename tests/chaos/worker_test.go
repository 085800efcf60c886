package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

const tries = 10

// until makes histories of workers with these flags and without faults, until `seen` is content with one.
func until(t *testing.T, seen func(*Record, []Violation) bool, flags ...string) {
	t.Helper()
	binary := os.Getenv("CHAOS_WORKER")
	if binary == "" {
		t.Fatal("CHAOS_WORKER names no program")
	}
	resource, err := startServer("redis-server", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer resource.kill()
	for seed := int64(1); seed <= tries; seed++ {
		plan := Plan{seed: seed, program: "redis-server", workers: 3, actors: 1, names: 1, watchdog: 1000, flags: flags}
		run, err := newRun(plan, binary, t.TempDir(), resource)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // for the workers to work
		record, err := run.complete()
		if err != nil || len(run.log.problems) > 0 {
			t.Fatal(err, run.log.problems)
		}
		if seen(record, Check(record)) {
			return
		}
	}
	t.Fatalf("not seen in %d histories", tries)
}

// A liar goes on writing with a hold that it was told is LOST.
func TestAResourceThatChecksFencesRefusesALiar(t *testing.T) {
	until(t, func(record *Record, violations []Violation) bool {
		if len(violations) > 0 {
			t.Fatal(violations)
		}
		for i := range record.Events {
			if record.Events[i].is("return", "write") && record.Events[i].Fields["outcome"] == "refused" {
				return true
			}
		}
		return false
	}, "liar=1")
}

func says(text string) func(*Record, []Violation) bool {
	return func(_ *Record, violations []Violation) bool {
		for _, violation := range violations {
			if strings.Contains(violation.What, text) {
				return true
			}
		}
		return false
	}
}

func TestAResourceThatDoesNotIsNoticed(t *testing.T) {
	until(t, says("after fence"), "liar=1", "unfenced=1")
}

func TestALockThatLocksNobodyOutIsNoticed(t *testing.T) {
	until(t, says("cannot have been granted"), "apart=1")
}
