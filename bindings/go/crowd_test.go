package belay

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"belay.invalid/belay/internal/native"
)

func threads(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	count, err := strconv.Atoi(regexp.MustCompile(`Threads:\s+(\d+)`).FindStringSubmatch(string(status))[1])
	must(t, err)
	return count
}

func TestTenThousandWaitersKeepFewThreads(t *testing.T) {
	const waiters = 10000
	client := open(t)
	mutex := client.Mutex(name(t))
	hold := mustLock(t, mutex)
	before := threads(t)
	var all sync.WaitGroup
	for i := 0; i < waiters; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			hold, err := mutex.Lock(context.Background())
			if err == nil {
				err = hold.Unlock()
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	eventually(t, "all wait", func() bool { return metrics(t, client).Pendings == waiters })
	more := threads(t) - before
	must(t, hold.Unlock())
	all.Wait()
	served := threads(t) - before
	t.Logf("%d waiters: %d threads more while they wait, %d when all were served", waiters, more, served)
	if max(more, served) > 12 {
		t.Errorf("%d waiters took %d threads, %d when they were served", waiters, more, served)
	}
}

// live are the objects that there are now.
func live(m Metrics) [6]int64 {
	return [6]int64{m.Pendings, m.Holds, m.Names, m.UndeliveredEvents, m.ProcessRequests, m.ProcessEvents}
}

func wantNothingLeft(t *testing.T, client *Client) {
	t.Helper()
	eventually(t, "nothing is left", func() bool { return live(metrics(t, client)) == [6]int64{} })
	client.calls.mu.Lock()
	defer client.calls.mu.Unlock()
	if len(client.calls.pending) != 0 {
		t.Errorf("%d calls in the table", len(client.calls.pending))
	}
	client.holds.Range(func(id, _ any) bool {
		t.Errorf("hold %v in the table", id)
		return true
	})
}

// The pump may tell of a loss when the release has ended the hold already.
func TestNewsOfReleasedHoldsLeaveNothing(t *testing.T) {
	client := open(t)
	hold := mustLock(t, client.Mutex(name(t)))
	must(t, hold.Unlock())
	client.with(func(handle uintptr) {
		client.holds.tell(handle, &event{native.FieldKind: native.KindLost, native.FieldHold: hold.id})
	})
	wantNothingLeft(t, client)
}

func TestCancelledLocksLeaveNothing(t *testing.T) {
	const cancels = 10000
	client := open(t)
	mutex := client.Mutex(name(t))
	hold := mustLock(t, mutex)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := 0; i < cancels; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := mutex.Lock(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}()
	}
	eventually(t, "all wait", func() bool { return metrics(t, client).Pendings == cancels })
	cancel()
	all.Wait()
	eventually(t, "only the holder is left on the server", func() bool { return members(t, client, mutex.lock.names[0]) == 1 })
	must(t, hold.Unlock())
	wantNothingLeft(t, client)
}

// Cancels race with grants here: whoever lost the race must have released the lock.
func TestCancelsThatRaceWithGrantsLeaveNothing(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t))
	var all sync.WaitGroup
	for i := 0; i < 2000; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%100)*100*time.Microsecond)
			defer cancel()
			hold, err := mutex.Lock(ctx)
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				return
			}
			if err := hold.Unlock(); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	must(t, mustLock(t, mutex).Unlock())
	wantNothingLeft(t, client)
}

func TestCloseWhileAHundredLock(t *testing.T) {
	for round := 0; round < 5; round++ {
		client := open(t)
		lock := name(t)
		var all sync.WaitGroup
		for i := 0; i < 100; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				mutex := client.Mutex(lock + strconv.Itoa(i%10))
				for {
					hold, err := mutex.Lock(context.Background())
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if err := hold.Unlock(); err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				}
			}()
		}
		eventually(t, "they lock", func() bool { return metrics(t, client).Grants > 100 })
		must(t, client.Close())
		all.Wait()
	}
}

func TestDroppedHoldIsAbandonedWithAWarning(t *testing.T) {
	var log lockedBuffer
	client := open(t, WithWatchdogLease(300*time.Millisecond), WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	lock := name(t)
	goroutines := runtime.NumGoroutine()
	hold := mustLock(t, client.Mutex(lock))
	hold.OnChange(func(Change) {})
	ctx := hold.Context(context.Background())
	hold = nil
	collect := func() bool {
		runtime.GC()
		return strings.Contains(log.String(), "dropped")
	}
	for i := 0; i < 20; i++ {
		if collect() {
			t.Fatal("a hold was dropped that had a context")
		}
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(ctx)
	ctx = nil
	eventually(t, "the warning", collect)
	if text := log.String(); strings.Count(text, "dropped") != 1 || !strings.Contains(text, lock) {
		t.Errorf("log: %s", text)
	}
	eventually(t, "its listener has ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	must(t, mustLock(t, open(t).Mutex(lock)).Unlock()) // its lease has ended
	wantNothingLeft(t, client)
}

func TestReleasedHoldsAreNotWarnedOf(t *testing.T) {
	var log lockedBuffer
	client := open(t, WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	mutex := client.Mutex(name(t))
	for i := 0; i < 100; i++ {
		must(t, mustLock(t, mutex).Unlock())
	}
	for i := 0; i < 5; i++ {
		runtime.GC()
	}
	if log.String() != "" {
		t.Errorf("log: %s", log.String())
	}
}
