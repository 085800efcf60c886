package belay

import (
	"context"
	"errors"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"
)

// leakCycles: the whole test is BELAY_LEAK_CYCLES=200000 go test -run TestNothingLeaks -v .
func leakCycles(t *testing.T) int {
	text := os.Getenv("BELAY_LEAK_CYCLES")
	if text == "" {
		return 4000
	}
	cycles, err := strconv.Atoi(text)
	must(t, err)
	return cycles
}

var raceDetector = false

func residentKiB(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	size, err := strconv.Atoi(regexp.MustCompile(`VmRSS:\s+(\d+)`).FindStringSubmatch(string(status))[1])
	must(t, err)
	return size
}

// leakCycle does one of the things that can go right or wrong, by turns.
func leakCycle(client *Client, held *Mutex, mine *Mutex, i int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch i % 8 {
	case 0:
		go cancel() // in the midst of it
		hold, err := held.Lock(ctx)
		if err == nil {
			return hold.Unlock()
		}
		return unless(err, context.Canceled)
	case 1:
		_, ok, err := held.TryLock(ctx)
		if ok {
			return errors.New("the lock was free")
		}
		return err
	case 2:
		limited, stop := context.WithTimeout(ctx, 200*time.Microsecond)
		defer stop()
		_, err := held.Lock(limited)
		return unless(err, context.DeadlineExceeded)
	case 3:
		_, err := client.Latch("nothing").Wait(ctx, 0)
		return unless(err, ErrNotFound)
	case 4:
		_, err := client.FencedWrite(ctx, "leak", 5, "FLUSHALL")
		return unless(err, ErrInvalidArgument)
	case 5:
		_, err := client.Inspect(ctx, "leak")
		return err
	}
	hold, err := mine.Lock(ctx)
	if err != nil {
		return err
	}
	hold.OnChange(func(Change) {})
	if hold.Context(ctx).Err() != nil {
		return errors.New("lost")
	}
	if i%16 == 6 {
		return hold.UnlockNoWait()
	}
	return hold.Unlock()
}

func unless(err error, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return errors.New("unexpected: " + err.Error())
}

func TestNothingLeaks(t *testing.T) {
	cycles := leakCycles(t)
	client := open(t)
	lock := name(t)
	held := client.Mutex(lock)
	hold := mustLock(t, held)
	run := func(cycles int) {
		var workers sync.WaitGroup
		for worker := 0; worker < 4; worker++ {
			workers.Add(1)
			go func() {
				defer workers.Done()
				mine := client.Mutex(lock + strconv.Itoa(worker))
				for i := 0; i < cycles/4; i++ {
					if err := leakCycle(client, held, mine, i); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		workers.Wait()
	}
	run(max(8000, cycles/4)) // until then the process grows to its size
	goroutines, before := runtime.NumGoroutine(), residentKiB(t)
	run(cycles)
	after := residentKiB(t)
	for i := 0; i < 4 && after-before > before/20; i++ { // what leaks grows on; threads come and go
		run(cycles / 4)
		after = residentKiB(t)
	}
	t.Logf("%d cycles: resident %d KiB before, %d KiB after", cycles, before, after)
	if raceDetector {
		after = before
	}
	if after-before > before/20 {
		t.Errorf("resident memory grew by %d KiB of %d", after-before, before)
	}
	eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	must(t, hold.Unlock())
	wantNothingLeft(t, client)
}
