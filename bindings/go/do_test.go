package belay

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// doer is one of the ways to run something under a lock.
type doer func(ctx context.Context, fn func(context.Context, *Hold) error) error

// doers are all of them, and each one's name.
func doers(client *Client, lock string) map[string]doer {
	return map[string]doer{
		lock + "mutex":  client.Mutex(lock + "mutex").Do,
		lock + "multi":  client.Multi(lock+"multi", lock+"multi2").Do,
		lock + "writer": client.RWMutex(lock + "writer").Do,
		lock + "reader": client.RWMutex(lock + "reader").RDo,
		lock + "permits": func(ctx context.Context, fn func(context.Context, *Hold) error) error {
			return client.Semaphore(lock+"permits", 3).Do(ctx, 2, fn)
		},
	}
}

func members(t *testing.T, client *Client, lock string) int64 {
	t.Helper()
	found, err := client.Inspect(within(t, patience), lock)
	must(t, err)
	return found.Total
}

func TestDoRunsUnderTheLockAndReleasesIt(t *testing.T) {
	client := open(t)
	type key struct{}
	for lock, do := range doers(client, name(t)) {
		var ctx context.Context
		wrong := errors.New("wrong")
		err := do(context.WithValue(within(t, patience), key{}, 7), func(inner context.Context, hold *Hold) error {
			ctx = inner
			if hold.State() != Held || members(t, client, lock) != 1 || inner.Value(key{}) != 7 || inner.Err() != nil {
				t.Errorf("%s: %v, %v", lock, hold.State(), inner.Err())
			}
			return wrong
		})
		if err != wrong {
			t.Errorf("%s: %v", lock, err)
		}
		if members(t, client, lock) != 0 || ctx.Err() != context.Canceled {
			t.Errorf("%s: it is held after Do; %v", lock, ctx.Err())
		}
		must(t, do(within(t, patience), func(context.Context, *Hold) error { return nil }))
	}
	must(t, client.Semaphore(name(t), 3).Do(within(t, patience), 2, func(_ context.Context, hold *Hold) error {
		if hold.Permits() != 2 {
			t.Errorf("permits %d", hold.Permits())
		}
		return nil
	}))
	wantNothingLeft(t, client)
}

func TestDoTellsOfALossWhateverFnReturns(t *testing.T) {
	client := open(t)
	wrong := errors.New("wrong")
	for lock, do := range doers(client, name(t)) {
		for _, returned := range []error{nil, context.Canceled, wrong} {
			err := do(within(t, patience), func(ctx context.Context, hold *Hold) error {
				_, err := client.Break(within(t, patience), lock, 0)
				must(t, err)
				<-ctx.Done()
				var lost *Error
				if !errors.As(context.Cause(ctx), &lost) || lost.Status != ErrLost || lost.Reason != ReasonBroken {
					t.Errorf("%s: cause %v", lock, context.Cause(ctx))
				}
				return returned
			})
			wantError(t, err, ErrLost)
			if returned != nil && !errors.Is(err, returned) {
				t.Errorf("%s: %v", lock, err)
			}
		}
	}
	wantNothingLeft(t, client)
}

func TestDoWithoutTheLockDoesNothing(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t), Wait(time.Millisecond))
	defer mustLock(t, mutex).Unlock()
	var none context.Context
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for want, ctx := range map[error]context.Context{ErrTimeout: within(t, patience), context.Canceled: ended, ErrInvalidArgument: none} {
		wantError(t, mutex.Do(ctx, func(context.Context, *Hold) error {
			t.Error("it ran without the lock")
			return nil
		}), want)
	}
}

func TestDoReleasesWhenFnPanicsOrEndsItsGoroutine(t *testing.T) {
	client := open(t)
	lock := name(t)
	for what, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		var panicked any
		var worker sync.WaitGroup
		worker.Add(1)
		go func() {
			defer worker.Done()
			defer func() { panicked = recover() }()
			err := client.Mutex(lock).Do(within(t, patience), func(context.Context, *Hold) error {
				end()
				return nil
			})
			t.Errorf("%s: Do returned %v", what, err)
		}()
		worker.Wait()
		if (panicked == "boom") != (what == "panic") {
			t.Errorf("%s: recovered %v", what, panicked)
		}
		wantNothingLeft(t, client)
	}
}

func TestDoLeavesToFnWhatFnEnds(t *testing.T) {
	client := open(t)
	for _, end := range []func(*Hold) error{(*Hold).Unlock, (*Hold).UnlockNoWait, (*Hold).Abandon} {
		must(t, client.Mutex(name(t)).Do(within(t, patience), func(_ context.Context, hold *Hold) error { return end(hold) }))
	}
}
