package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

const tries = 10

// until makes histories of such a plan, of few workers and without faults, until `seen` is content with one.
func until(t *testing.T, plan Plan, seen func(*Record, []Violation) bool) {
	t.Helper()
	binary := os.Getenv("CHAOS_WORKER")
	if binary == "" {
		t.Fatal("CHAOS_WORKER names no program")
	}
	resource, err := startServer("redis-server", false)
	if err != nil {
		t.Fatal(err)
	}
	defer resource.end()
	for seed := int64(1); seed <= tries; seed++ {
		plan.seed, plan.on, plan.program, plan.workers, plan.actors, plan.watchdog = seed, onOne, "redis-server", 3, 1, 1000
		plan.names = 1
		if plan.sets {
			plan.names = 3
		}
		run, err := newRun(plan, binary, resource)
		if err != nil {
			t.Fatal(err)
		}
		defer run.deployment.end()
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

func flags(flags ...string) Plan { return Plan{flags: flags} }

// A liar goes on writing with a hold that it was told is LOST.
func TestAResourceThatChecksFencesRefusesALiar(t *testing.T) {
	until(t, flags("liar=1"), func(record *Record, violations []Violation) bool {
		if len(violations) > 0 {
			t.Fatal(violations)
		}
		for i := range record.Events {
			if record.Events[i].is("return", "write") && record.Events[i].Fields["outcome"] == "refused" {
				return true
			}
		}
		return false
	})
}

// says: among the violations is one with each of these texts.
func says(texts ...string) func(*Record, []Violation) bool {
	return func(_ *Record, violations []Violation) bool {
		var all []string
		for _, violation := range violations {
			all = append(all, violation.What)
		}
		said := 0
		for _, text := range texts {
			if strings.Contains(strings.Join(all, "\n"), text) {
				said++
			}
		}
		return said == len(texts)
	}
}

func TestAResourceThatDoesNotIsNoticed(t *testing.T) {
	until(t, flags("liar=1", "unfenced=1"), says("after fence"))
}

func TestALockThatLocksNobodyOutIsNoticed(t *testing.T) {
	until(t, flags("apart=1"), says("cannot have been granted"))
}

func TestSoAreASharedLockASemaphoreAndALatchThatAreNotCommon(t *testing.T) {
	plan := Plan{modes: true, permits: 2, latch: true, flags: []string{"apart=1"}}
	until(t, plan, says("'a' cannot have been granted", "'s' cannot have been granted", "latch 'l' cannot have been"))
}

func TestSeveralNamesThatAreNotCommonAreNoticed(t *testing.T) {
	until(t, Plan{sets: true, flags: []string{"apart=1"}},
		says("'a' cannot have been granted", "'b' cannot have been granted", "'c' cannot have been granted"))
}

func TestWritersWhoOnlyReadAreNoticed(t *testing.T) {
	until(t, flags("reading=1"), says("cannot have been granted"))
}

func TestACountDownThatCountsTwiceIsNoticed(t *testing.T) {
	until(t, Plan{latch: true, flags: []string{"twice=1"}}, says("latch 'l' cannot have been"))
}

func TestDowngradesAndLimitsThatNobodyTellsAreNoticed(t *testing.T) {
	plan := Plan{modes: true, permits: 2, limits: true, flags: []string{"silent=1"}}
	until(t, plan, says("'a' cannot have been granted", "'s' cannot have been granted"))
}

func TestALockDelayThatNobodyKeepsIsNoticed(t *testing.T) {
	until(t, Plan{delay: 500, flags: []string{"liar=1", "careless=1"}}, says("cannot have been granted"))
}

func TestALatchThatOutlivesItsTimeIsNoticed(t *testing.T) {
	until(t, Plan{latch: true, ttl: true, flags: []string{"careless=1"}}, says("latch 'l' cannot have been"))
}
