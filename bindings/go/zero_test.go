package belay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// promptly fails the test if f hangs, instead of ending the whole run.
func promptly(t *testing.T, what string, f func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				t.Errorf("%s: panic: %v", what, panicked)
				ended <- nil
			}
		}()
		ended <- f()
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// takers are all calls that take a context and send nothing if it has ended.
func takers(client *Client, hold *Hold, lock string) map[string]func(context.Context) error {
	rw, semaphore, latch := client.RWMutex(lock), client.Semaphore(lock, 2), client.Latch(lock)
	return map[string]func(context.Context) error{
		"Lock":        func(ctx context.Context) error { _, err := client.Mutex(lock).Lock(ctx); return err },
		"TryLock":     func(ctx context.Context) error { _, _, err := client.Mutex(lock).TryLock(ctx); return err },
		"Do":          func(ctx context.Context) error { return client.Mutex(lock).Do(ctx, nil) },
		"RW Lock":     func(ctx context.Context) error { _, err := rw.Lock(ctx); return err },
		"RW TryLock":  func(ctx context.Context) error { _, _, err := rw.TryLock(ctx); return err },
		"RW Do":       func(ctx context.Context) error { return rw.Do(ctx, nil) },
		"RLock":       func(ctx context.Context) error { _, err := rw.RLock(ctx); return err },
		"TryRLock":    func(ctx context.Context) error { _, _, err := rw.TryRLock(ctx); return err },
		"RDo":         func(ctx context.Context) error { return rw.RDo(ctx, nil) },
		"Acquire":     func(ctx context.Context) error { _, err := semaphore.Acquire(ctx, 1); return err },
		"TryAcquire":  func(ctx context.Context) error { _, _, err := semaphore.TryAcquire(ctx, 1); return err },
		"Permits Do":  func(ctx context.Context) error { return semaphore.Do(ctx, 1, nil) },
		"SetLimit":    func(ctx context.Context) error { _, err := semaphore.SetLimit(ctx, 1); return err },
		"Available":   func(ctx context.Context) error { _, _, err := semaphore.Available(ctx); return err },
		"Wait":        func(ctx context.Context) error { _, err := latch.Wait(ctx, 0); return err },
		"TryWait":     func(ctx context.Context) error { _, _, err := latch.TryWait(ctx, 0); return err },
		"Set":         func(ctx context.Context) error { _, err := latch.Set(ctx, 1, 0); return err },
		"CountDown":   func(ctx context.Context) error { _, err := latch.CountDown(ctx, 1); return err },
		"Count":       func(ctx context.Context) error { _, err := latch.Count(ctx); return err },
		"Ping":        client.Ping,
		"Inspect":     func(ctx context.Context) error { _, err := client.Inspect(ctx, lock); return err },
		"Break":       func(ctx context.Context) error { _, err := client.Break(ctx, lock+"held", 0); return err },
		"List":        func(ctx context.Context) error { _, _, err := client.List(ctx, "*", 1); return err },
		"Names":       func(ctx context.Context) error { return namesError(client, ctx) },
		"FencedWrite": func(ctx context.Context) error { _, err := client.FencedWrite(ctx, lock, 1, "SET", "x"); return err },
		"Extend":      func(ctx context.Context) error { return hold.Extend(ctx, time.Minute) },
		"Verify":      hold.Verify,
		"Downgrade":   hold.Downgrade,
	}
}

func TestNilOrEndedContextIsAnErrorOfACallThatBeginsNothing(t *testing.T) {
	client := open(t)
	lock := name(t)
	var none context.Context
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	hold := mustLock(t, client.Mutex(lock+"held", Lease(time.Minute)))
	for _, test := range []struct {
		ctx    context.Context
		words  string
		status Status
		cause  error
	}{
		{none, "nil Context", ErrInvalidArgument, nil},
		{within(t, 0), "before the call", ErrUnavailable, context.DeadlineExceeded},
		{cancelled, "before the call", ErrCancelled, context.Canceled},
	} {
		for what, call := range takers(client, hold, lock) {
			err := promptly(t, what, func() error { return call(test.ctx) })
			failure, ok := err.(*Error)
			if !ok || failure.Status != test.status || failure.InDoubt != 0 || !errors.Is(err, test.cause) && test.cause != nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	wantError(t, hold.UnlockContext(none), ErrInvalidArgument)
	wantPanic(t, client.Mutex(lock).Locker(none).Lock)
	wantPanic(t, func() { hold.Context(none) })
	wantPanic(t, func() { hold.Changes(none)(func(Change) bool { return true }) })
	m := metrics(t, client)
	if m.Holds != 1 || m.Pendings != 0 || hold.State() != Held {
		t.Errorf("something was begun: %+v", m)
	}
	must(t, hold.Unlock())
	found, err := client.Inspect(within(t, patience), lock)
	must(t, err)
	if found.Primitive != PrimitiveNone {
		t.Errorf("the name is in use: %+v", found)
	}
}

func namesError(client *Client, ctx context.Context) (err error) {
	client.Names(ctx, "*")(func(_ string, yielded error) bool { err = yielded; return true })
	return err
}

func callsOf(client *Client) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"Close":       client.Close,
		"Ping":        func() error { return client.Ping(ctx) },
		"Inspect":     func() error { _, err := client.Inspect(ctx, "a"); return err },
		"Break":       func() error { _, err := client.Break(ctx, "a", 0); return err },
		"List":        func() error { _, _, err := client.List(ctx, "*", 1); return err },
		"FencedWrite": func() error { _, err := client.FencedWrite(ctx, "a", 1, "SET", "x"); return err },
		"Names":       func() error { return namesError(client, ctx) },
		"OwnerHolds":  func() error { _, err := client.OwnerHolds(1, "a"); return err },
		"Metrics":     func() error { _, err := client.Metrics(); return err },
		"Mutex":       func() error { _, err := client.Mutex("a").Lock(ctx); return err },
		"Multi":       func() error { _, _, err := client.Multi("a", "b").TryLock(ctx); return err },
		"RWMutex":     func() error { _, err := client.RWMutex("a").RLock(ctx); return err },
		"Semaphore":   func() error { _, err := client.Semaphore("a", 1).Acquire(ctx, 1); return err },
		"Available":   func() error { _, _, err := client.Semaphore("a", 1).Available(ctx); return err },
		"Latch":       func() error { _, err := client.Latch("a").Wait(ctx, 0); return err },
		"CountDown":   func() error { _, err := client.Latch("a").CountDown(ctx, 1); return err },
	}
}

func TestNilAndZeroValuesAreErrors(t *testing.T) {
	ctx := context.Background()
	for which, calls := range map[string]map[string]func() error{
		"nil Client":  callsOf(nil),
		"zero Client": callsOf(new(Client)),
		"zero": {
			"Mutex.Lock":           func() error { _, err := new(Mutex).Lock(ctx); return err },
			"Mutex.TryLock":        func() error { _, _, err := new(Mutex).TryLock(ctx); return err },
			"RWMutex.Lock":         func() error { _, err := new(RWMutex).Lock(ctx); return err },
			"RWMutex.TryRLock":     func() error { _, _, err := new(RWMutex).TryRLock(ctx); return err },
			"Semaphore.TryAcquire": func() error { _, _, err := new(Semaphore).TryAcquire(ctx, 1); return err },
			"Semaphore.SetLimit":   func() error { _, err := new(Semaphore).SetLimit(ctx, 1); return err },
			"Latch.Wait":           func() error { _, err := new(Latch).Wait(ctx, 0); return err },
			"Latch.Count":          func() error { _, err := new(Latch).Count(ctx); return err },
		},
	} {
		for what, call := range calls {
			if err := promptly(t, which+": "+what, call); !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "Open") {
				t.Errorf("%s: %s: %v", which, what, err)
			}
		}
	}
	wantPanic(t, new(Mutex).Locker(ctx).Lock)
}

// A nil hold is what a failed Lock returns: its Unlock may be deferred before the error was looked at.
func TestNilAndZeroHoldsWereNeverGranted(t *testing.T) {
	ctx := context.Background()
	for _, hold := range []*Hold{nil, {}} {
		for what, call := range map[string]func() error{
			"Unlock":        hold.Unlock,
			"UnlockContext": func() error { return hold.UnlockContext(ctx) },
			"UnlockNoWait":  hold.UnlockNoWait,
			"Abandon":       hold.Abandon,
			"Extend":        func() error { return hold.Extend(ctx, time.Minute) },
			"Verify":        func() error { return hold.Verify(ctx) },
			"Downgrade":     func() error { return hold.Downgrade(ctx) },
		} {
			if err := promptly(t, what, call); !errors.Is(err, ErrUnknownHold) || !strings.Contains(err.Error(), "never granted") {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, call := range []func(){
			func() { hold.State() }, func() { hold.Remaining() }, func() { hold.Fence() }, func() { hold.Fences() }, func() { hold.Permits() },
			func() { hold.Context(ctx) }, func() { hold.OnChange(func(Change) {}) }, func() { hold.Changes(ctx) },
		} {
			wantPanicOf(t, "belay: a nil or zero Hold", call)
		}
	}
}

func wantPanicOf(t *testing.T, message string, f func()) {
	t.Helper()
	defer func() {
		if panicked := recover(); panicked != message {
			t.Errorf("panicked with %v", panicked)
		}
	}()
	f()
}

func TestZeroOfAnOptionIsItsDefaultOrRefused(t *testing.T) {
	client := open(t)
	must(t, mustLock(t, client.Mutex(name(t), Lease(0), MaxHold(0), LockDelay(0), Owner(0), And(), nil)).Unlock())
	_, err := client.Mutex(name(t), Identity("")).Lock(within(t, patience))
	wantError(t, err, ErrInvalidArgument)
	_, err = client.Semaphore(name(t), 0).Acquire(within(t, patience), 1)
	wantError(t, err, ErrNotFound)
	for what, option := range map[string]Option{"With": With("", ""), "lease": WithWatchdogLease(0), "timeout": WithRequestTimeout(0), "prefix": WithPrefix("")} {
		if _, err := Open("", option); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
