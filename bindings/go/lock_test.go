package belay

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLockExcludes(t *testing.T) {
	one, two := open(t), open(t)
	lock := name(t)
	hold := mustLock(t, one.Mutex(lock))
	if _, ok, err := two.Mutex(lock).TryLock(within(t, patience)); ok || err != nil {
		t.Fatalf("a second client got the lock: %v, %v", ok, err)
	}
	must(t, hold.Unlock())
	later, ok, err := two.Mutex(lock).TryLock(within(t, patience))
	if !ok || err != nil {
		t.Fatalf("a free lock was not granted: %v, %v", ok, err)
	}
	if later.Fence() <= hold.Fence() {
		t.Errorf("fence %d after %d", later.Fence(), hold.Fence())
	}
	must(t, later.Unlock())
}

// The locks are confirmed: without that, a process that a busy machine stops for longer than a grant's first lease of 0.1 s may lose one.
func TestCounterIsRaisedByOneAtATime(t *testing.T) {
	clients := []*Client{open(t), open(t)}
	lock, counter := name(t), 0
	var workers sync.WaitGroup
	for i := 0; i < 32; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			mutex := clients[i%2].Mutex(lock, Confirmed())
			for j := 0; j < 20; j++ {
				hold, err := mutex.Lock(within(t, patience))
				if err != nil {
					t.Error(err)
					return
				}
				counter++ // the race detector sees it, too
				if err := hold.Unlock(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	workers.Wait()
	if counter != 32*20 {
		t.Errorf("counted %d", counter)
	}
}

func TestDeadlineIsATimeout(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t))
	defer mustLock(t, mutex).Unlock()
	_, err := mutex.Lock(within(t, 50*time.Millisecond))
	wantError(t, err, ErrTimeout, context.DeadlineExceeded)
	if errors.Is(err, context.Canceled) {
		t.Error("a deadline is no cancel")
	}
}

func TestWaitIsATimeoutOfItsOwn(t *testing.T) {
	client := open(t)
	lock := name(t)
	defer mustLock(t, client.Mutex(lock)).Unlock()
	_, err := client.Mutex(lock, Wait(20*time.Millisecond)).Lock(within(t, patience))
	wantError(t, err, ErrTimeout)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the context's deadline has not passed")
	}
	_, err = client.Mutex(lock, Wait(patience)).Lock(within(t, 20*time.Millisecond))
	wantError(t, err, ErrTimeout, context.DeadlineExceeded)
	away := openAt(t, "unix:///nonexistent", WithRequestTimeout(50*time.Millisecond))
	_, err = away.Mutex(lock, Wait(20*time.Millisecond)).Lock(within(t, patience))
	wantError(t, err, ErrUnavailable)
}

func TestDeadlineOnAnUnreachableServerIsNoContention(t *testing.T) {
	away := openAt(t, "unix:///nonexistent", WithRequestTimeout(50*time.Millisecond))
	wantError(t, away.Ping(within(t, patience)), ErrUnavailable)
	_, err := away.Mutex(name(t)).Lock(within(t, 20*time.Millisecond))
	wantError(t, err, ErrUnavailable, context.DeadlineExceeded)
	if errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "no such file or directory") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = away.Mutex(name(t)).Lock(ctx)
	wantError(t, err, ErrCancelled, context.Canceled)
	if !strings.Contains(err.Error(), "no such file or directory") {
		t.Error(err)
	}
}

func TestContextsHaveEndedWhenTheirHoldHas(t *testing.T) {
	client := open(t)
	lock := name(t)
	ends := map[string]func(*Hold) error{"Unlock": (*Hold).Unlock, "UnlockNoWait": (*Hold).UnlockNoWait, "Abandon": (*Hold).Abandon}
	for what, end := range ends {
		hold := mustLock(t, client.Mutex(lock+what))
		ctx := hold.Context(hold.Context(context.Background()))
		must(t, end(hold))
		if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
			t.Error(what, context.Cause(ctx))
		}
	}
	for i := 0; i < 50; i++ {
		hold := mustLock(t, client.Mutex(lock))
		ctx := hold.Context(context.Background())
		_, err := client.Break(context.Background(), lock, 0)
		must(t, err)
		eventually(t, "the loss", func() bool { return hold.State() == Lost })
		if !errors.Is(context.Cause(ctx), ErrLost) {
			t.Fatal(context.Cause(ctx))
		}
		wantError(t, hold.Unlock(), ErrLost)
	}
}

func TestTimesBeyondTheirRange(t *testing.T) {
	client := open(t)
	lock := name(t)
	must(t, mustLock(t, client.Mutex(lock, Wait(math.MaxInt64), nil)).Unlock())
	for i, wrong := range []LockOption{
		Wait(-1), Wait(-time.Millisecond), Wait(-time.Second), Wait(math.MinInt64), Lease(-1), Lease(math.MaxInt64),
		MaxHold(-1), MaxHold(math.MinInt64), LockDelay(-1), LockDelay(math.MaxInt64),
	} {
		if _, err := client.Mutex(lock, wrong).Lock(within(t, patience)); !errors.Is(err, ErrInvalidArgument) {
			t.Error(i, err)
		}
	}
	if _, err := Open("", WithWatchdogLease(-1), nil, WithLogger(nil)); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	_, err := client.Latch(lock).Set(within(t, patience), 1, -1)
	wantError(t, err, ErrInvalidArgument)
	hold := mustLock(t, client.Mutex(lock))
	hold.OnChange(nil)
	must(t, hold.Unlock())
	_, err = client.Semaphore(lock+"s", 1, Owner(7)).Acquire(within(t, patience), 1)
	wantError(t, err, ErrInvalidArgument)
}

func TestMessagesNameValueRangeAndUnitAsGoDoes(t *testing.T) {
	client := open(t)
	lock := name(t)
	with := func(option LockOption) func() error {
		return func() error { _, err := client.Mutex(lock, option).Lock(within(t, patience)); return err }
	}
	opening := func(option Option) func() error {
		return func() error { _, err := Open("", option); return err }
	}
	hold := mustLock(t, client.Mutex(lock+"held", Lease(time.Minute)))
	for want, call := range map[string]func() error{
		"lease was 1ms: 100ms..24h0m0s is allowed":             with(Lease(30)),
		"lease was 5ms: 100ms..24h0m0s is allowed":             func() error { return hold.Extend(within(t, patience), 5*time.Millisecond) },
		"maxHold was -1s: 100ms..720h0m0s is allowed":          with(MaxHold(-time.Second)),
		"lockDelay was 2m0s: 0s..1m0s is allowed":              with(LockDelay(2 * time.Minute)),
		"wait was -5s: 0s or more is allowed":                  with(Wait(-5 * time.Second)),
		"wait was -1ns: 0s or more is allowed":                 with(Wait(-1)),
		"lease was 9223372036855ms: 100ms..24h0m0s is allowed": with(Lease(math.MaxInt64)),
		"ttl was 4ms: 100ms..720h0m0s is allowed":              func() error { _, err := client.Latch(lock).Set(within(t, patience), 1, 4*time.Millisecond); return err },
		"count was 0: 1..1000000000 is allowed":                func() error { _, err := client.Latch(lock).Set(within(t, patience), 0, 0); return err },
		"watchdogLease was 1ms: 100ms..24h0m0s is allowed":     opening(WithWatchdogLease(1)),
		"requestTimeout was 1ms: 10ms..1h0m0s is allowed":      opening(WithRequestTimeout(1)),
		"maxHold was 1ms: 0s, 100ms..720h0m0s is allowed":      opening(WithMaxHold(1)),
		"maxPending was 0: 1..10000000 is allowed":             opening(WithMaxPending(0)),
		"watchdog_lease_ms was 1: 100..86400000 is allowed":    opening(With("watchdog_lease_ms", "1")),
		"watchdog_lease_ms was 'x': 100..86400000 is allowed":  opening(With("watchdog_lease_ms", "x")),
		"option a contains NUL":                                opening(With("a", "\x00")),
	} {
		err := call()
		wantError(t, err, ErrInvalidArgument)
		if message := err.(*Error).Message; message != want {
			t.Errorf("%q, not %q", message, want)
		}
	}
	must(t, hold.Unlock())
}

func TestCancelledContextIsCancelled(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t))
	defer mustLock(t, mutex).Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := mutex.Lock(ctx)
		ended <- err
	}()
	eventually(t, "the lock is waited for", func() bool { return metrics(t, client).Pendings == 1 })
	cancel()
	err := <-ended
	wantError(t, err, ErrCancelled, context.Canceled)
	_, err = mutex.Lock(ctx)
	wantError(t, err, ErrCancelled, context.Canceled)
}

func metrics(t testing.TB, client *Client) Metrics {
	t.Helper()
	m, err := client.Metrics()
	must(t, err)
	return m
}

func TestSecondUnlockIsRefused(t *testing.T) {
	hold := mustLock(t, open(t).Mutex(name(t)))
	must(t, hold.Unlock())
	wantError(t, hold.Unlock(), ErrUnknownHold)
	wantError(t, hold.UnlockNoWait(), ErrUnknownHold)
	wantError(t, hold.Abandon(), ErrUnknownHold)
	wantError(t, hold.Verify(within(t, patience)), ErrUnknownHold)
	if hold.State() != Released || hold.Remaining() != 0 {
		t.Errorf("state %v, remaining %v", hold.State(), hold.Remaining())
	}
}

// A release is sent whatever becomes of the context: the lease would keep the name for an hour.
func TestUnlockContextWaitsNoLongerThanItsContext(t *testing.T) {
	server := ownServer(t)
	client := openAt(t, server.url(), WithWatchdogLease(time.Hour))
	must(t, mustLock(t, client.Mutex("a")).UnlockContext(within(t, patience)))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		wanted []error
	}{
		"deadline":  {within(t, 20*time.Millisecond), []error{ErrUnavailable, context.DeadlineExceeded}},
		"cancelled": {ended, []error{ErrCancelled, context.Canceled}},
	} {
		hold := mustLock(t, client.Mutex(name))
		ctx := hold.Context(context.Background())
		server.tell(t, "pause")
		err := hold.UnlockContext(test.ctx)
		wantError(t, err, test.wanted...)
		if doubt := new(Error); !errors.As(err, &doubt) || doubt.InDoubt < 30*time.Minute {
			t.Errorf("%s: in doubt for %v", name, doubt.InDoubt)
		}
		if hold.State() != Released || ctx.Err() == nil {
			t.Errorf("%s: state %v, context %v", name, hold.State(), ctx.Err())
		}
		wantError(t, hold.UnlockContext(test.ctx), ErrUnknownHold)
		server.tell(t, "continue")
		must(t, mustLock(t, openAt(t, server.url()).Mutex(name)).Unlock())
	}
	lost := mustLock(t, client.Mutex("a"))
	_, err := client.Break(within(t, patience), "a", 0)
	must(t, err)
	eventually(t, "the loss", func() bool { return lost.State() == Lost })
	wantLost(t, lost.UnlockContext(ended), ReasonBroken)
	wantNothingLeft(t, client)
}

func TestUnlockNoWaitFreesTheName(t *testing.T) {
	mutex := open(t).Mutex(name(t))
	for i := 0; i < 10; i++ {
		must(t, mustLock(t, mutex).UnlockNoWait())
	}
}

func TestLostHoldEndsItsContextsWithTheCause(t *testing.T) {
	client, other := open(t), open(t)
	lock := name(t)
	hold := mustLock(t, client.Mutex(lock))
	changes := make(chan Change, 10)
	hold.OnChange(func(change Change) { changes <- change })
	ctx := hold.Context(context.Background())
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	if hold.State() != Held || ctx.Err() != nil {
		t.Fatal("lost before it was broken")
	}
	losers, err := other.Break(within(t, patience), lock, hold.Fence())
	must(t, err)
	if len(losers) != 1 || losers[0].Client != client.ID() || losers[0].Fence != hold.Fence() {
		t.Errorf("losers: %+v", losers)
	}
	<-child.Done()
	var lost *Error
	if !errors.As(context.Cause(child), &lost) || lost.Status != ErrLost || lost.Reason != ReasonBroken || lost.Message == "" {
		t.Errorf("cause: %v", context.Cause(child))
	}
	if change := <-changes; change.State != Lost || change.Reason != ReasonBroken {
		t.Errorf("change: %+v", change)
	}
	late := make(chan Change, 10)
	hold.OnChange(func(change Change) { late <- change })
	if change := <-late; change.State != Lost {
		t.Errorf("late change: %+v", change)
	}
	if after := hold.Context(context.Background()); !errors.Is(context.Cause(after), ErrLost) {
		t.Errorf("a context made later: %v", context.Cause(after))
	}
	if hold.State() != Lost || hold.Remaining() != 0 {
		t.Errorf("state %v, remaining %v", hold.State(), hold.Remaining())
	}
	wantError(t, hold.Verify(within(t, patience)), ErrLost)
	wantError(t, hold.Unlock(), ErrLost)
	wantError(t, hold.Unlock(), ErrUnknownHold)
}

func TestReleaseEndsTheContextsOfAHold(t *testing.T) {
	hold := mustLock(t, open(t).Mutex(name(t)))
	type key struct{}
	ctx := hold.Context(context.WithValue(context.Background(), key{}, 7))
	if ctx.Value(key{}) != 7 || ctx.Err() != nil {
		t.Fatal("no child of its parent")
	}
	must(t, hold.Unlock())
	<-ctx.Done()
	if context.Cause(ctx) != context.Canceled {
		t.Errorf("cause: %v", context.Cause(ctx))
	}
}

func TestUnreachableServerIsAtRiskAndThenLost(t *testing.T) {
	server := ownServerBeside(t)
	client := openAt(t, server.url(), WithWatchdogLease(1500*time.Millisecond), WithRequestTimeout(500*time.Millisecond))
	hold := mustLock(t, client.Mutex("a"))
	changes := make(chan Change, 10)
	hold.OnChange(func(change Change) { changes <- change })
	server.tell(t, "pause")
	if change := <-changes; change.State != AtRisk || change.Reason != ReasonNotRenewed {
		t.Errorf("first: %+v", change)
	}
	server.tell(t, "continue")
	if change := <-changes; change.State != Held && change.State != Lost {
		t.Errorf("second: %+v", change)
	}
	server.tell(t, "pause")
	<-hold.Context(context.Background()).Done()
	_, err := client.Mutex("b").Lock(within(t, patience))
	wantError(t, err, ErrUnavailable)
	wantError(t, client.Ping(within(t, patience)), ErrUnavailable)
	wantError(t, client.Ping(within(t, 20*time.Millisecond)), ErrUnavailable, context.DeadlineExceeded)
	wantError(t, hold.Unlock(), ErrLost)
	server.tell(t, "continue")
}

func TestFixedLease(t *testing.T) {
	client := open(t)
	hold := mustLock(t, client.Mutex(name(t), Lease(100*time.Millisecond)))
	must(t, hold.Extend(within(t, patience), time.Minute))
	if remaining := hold.Remaining(); remaining < 50*time.Second || remaining > time.Minute {
		t.Errorf("remaining %v", remaining)
	}
	must(t, hold.Verify(within(t, patience)))
	must(t, hold.Unlock())
	short := mustLock(t, client.Mutex(name(t), Lease(100*time.Millisecond)))
	var lost *Error
	if err := context.Cause(waitFor(short.Context(context.Background()))); !errors.As(err, &lost) || lost.Reason != ReasonLeaseEnded {
		t.Errorf("cause: %v", err)
	}
	wantError(t, short.Extend(within(t, patience), time.Minute), ErrLost)
	renewed := mustLock(t, client.Mutex(name(t)))
	wantError(t, renewed.Extend(within(t, patience), time.Minute), ErrInvalidArgument)
}

func waitFor(ctx context.Context) context.Context {
	<-ctx.Done()
	return ctx
}

func TestMaxHoldAndLockDelay(t *testing.T) {
	client := open(t, WithWatchdogLease(300*time.Millisecond))
	lock := name(t)
	hold := mustLock(t, client.Mutex(lock, MaxHold(100*time.Millisecond), LockDelay(time.Minute)))
	var lost *Error
	if err := context.Cause(waitFor(hold.Context(context.Background()))); !errors.As(err, &lost) || lost.Reason != ReasonMaxHold {
		t.Errorf("cause: %v", err)
	}
	if _, ok, err := open(t).Mutex(lock).TryLock(within(t, patience)); ok || err != nil {
		t.Errorf("granted within the lock delay: %v, %v", ok, err)
	}
}

func TestSeveralNamesAreOneHold(t *testing.T) {
	client := open(t)
	a, b := name(t)+"a", name(t)+"b"
	hold := mustLock(t, client.Multi(a, b))
	if len(hold.Fences()) != 2 || hold.Fences()[0] != hold.Fence() || hold.Fences()[1] <= 0 {
		t.Errorf("fences %v", hold.Fences())
	}
	if _, ok, _ := client.Mutex(b).TryLock(within(t, patience)); ok {
		t.Error("the second name was free")
	}
	must(t, hold.Unlock())
	hold = mustLock(t, client.Mutex(a, AndShared(b), Lease(time.Minute)))
	reader, ok, err := client.RWMutex(b).TryRLock(within(t, patience))
	if !ok || err != nil {
		t.Errorf("a shared name was not: %v, %v", ok, err)
	}
	must(t, reader.Unlock())
	must(t, hold.Unlock())
	_, err = client.Multi().Lock(within(t, patience))
	wantError(t, err, ErrInvalidArgument)
}

func TestOwnersMayLockAgain(t *testing.T) {
	client := open(t)
	lock := name(t)
	mutex := client.Mutex(lock, Owner(7))
	wantHolds := func(want int64) {
		t.Helper()
		if holds, err := client.OwnerHolds(7, lock); holds != want || err != nil {
			t.Errorf("%d holds, not %d; %v", holds, want, err)
		}
	}
	outer, inner := mustLock(t, mutex), mustLock(t, mutex)
	wantHolds(2)
	must(t, inner.Unlock())
	wantHolds(1)
	if _, ok, _ := client.Mutex(lock, Owner(8)).TryLock(within(t, patience)); ok {
		t.Error("another owner got the lock")
	}
	must(t, outer.Unlock())
	wantHolds(0)
	_, err := client.OwnerHolds(-1, lock)
	if wantError(t, err, ErrInvalidArgument); !strings.Contains(err.Error(), "owner -1 ") {
		t.Error(err)
	}
	rw := client.RWMutex(lock, Owner(7))
	reader, err := rw.RLock(within(t, patience))
	must(t, err)
	_, err = rw.Lock(within(t, patience))
	wantError(t, err, ErrWouldDeadlock)
	must(t, reader.Unlock())
}

func TestIdentitiesShare(t *testing.T) {
	one, two := open(t), open(t)
	lock := name(t)
	mine := mustLock(t, one.Mutex(lock, Identity("order\x00 7")))
	yours := mustLock(t, two.Mutex(lock, Identity("order\x00 7")))
	if mine.Fence() != yours.Fence() {
		t.Errorf("fences %d, %d", mine.Fence(), yours.Fence())
	}
	if _, ok, _ := two.Mutex(lock, Identity("order\x00 8")).TryLock(within(t, patience)); ok {
		t.Error("another identity got the lock")
	}
	must(t, mine.Unlock())
	must(t, yours.Unlock())
}

func TestReadersShareAndWritersExclude(t *testing.T) {
	client := open(t)
	rw := client.RWMutex(name(t))
	one, err := rw.RLock(within(t, patience))
	must(t, err)
	two, ok, err := rw.TryRLock(within(t, patience))
	if !ok || err != nil {
		t.Fatalf("a second reader: %v, %v", ok, err)
	}
	if _, ok, _ := rw.TryLock(within(t, patience)); ok {
		t.Error("a writer beside readers")
	}
	must(t, one.Unlock())
	must(t, two.Unlock())
	writer, err := rw.Lock(within(t, patience))
	must(t, err)
	if _, ok, _ := rw.TryRLock(within(t, patience)); ok {
		t.Error("a reader beside a writer")
	}
	must(t, writer.Downgrade(within(t, patience)))
	reader, ok, err := rw.TryRLock(within(t, patience))
	if !ok || err != nil {
		t.Fatalf("a reader beside a downgraded writer: %v, %v", ok, err)
	}
	wantError(t, reader.Downgrade(within(t, patience)), ErrInvalidArgument)
	must(t, writer.Unlock())
	must(t, reader.Unlock())
}

func TestNamesAreBytes(t *testing.T) {
	one, two := open(t), open(t)
	for _, lock := range []string{"a\x00b", "🔒", "\xff\xfe", "}x", "{}", strings.Repeat("n", 1024)} {
		hold := mustLock(t, one.Mutex(lock))
		if _, ok, err := two.Mutex(lock).TryLock(within(t, patience)); ok || err != nil {
			t.Errorf("%q: %v, %v", lock, ok, err)
		}
		found, _, err := two.List(within(t, patience), "*", 1000)
		must(t, err)
		if !contains(found, lock) {
			t.Errorf("%q is not in %q", lock, found)
		}
		must(t, hold.Unlock())
	}
	free, ok, err := two.Mutex("a").TryLock(within(t, patience))
	if !ok || err != nil {
		t.Errorf("a name was cut: %v, %v", ok, err)
	}
	must(t, free.Unlock())
	for _, lock := range []string{"", strings.Repeat("n", 1025)} {
		_, err := one.Mutex(lock).Lock(within(t, patience))
		wantError(t, err, ErrInvalidArgument)
	}
}

func contains(list []string, wanted string) bool {
	for _, item := range list {
		if item == wanted {
			return true
		}
	}
	return false
}

func TestLockers(t *testing.T) {
	client := open(t)
	lock := name(t)
	rw := client.RWMutex(lock)
	for _, locker := range []sync.Locker{client.Mutex(lock).Locker(within(t, patience)), rw.Locker(within(t, patience)), rw.RLocker(within(t, patience))} {
		locker.Lock()
		if _, ok, _ := rw.TryLock(within(t, patience)); ok {
			t.Error("a writer beside it")
		}
		locker.Unlock()
		wantPanic(t, locker.Unlock)
	}
	readers := rw.RLocker(within(t, patience))
	for _, step := range []func(){readers.Lock, readers.Lock, readers.Unlock, readers.Unlock} {
		step()
	}
	holder := mustLock(t, client.Mutex(lock))
	wantPanic(t, rw.Locker(within(t, time.Millisecond)).Lock)
	must(t, holder.Unlock())
}

// lockers are all ways to make one.
func lockers(client *Client, lock string) []sync.Locker {
	ctx := context.Background()
	return []sync.Locker{client.Mutex(lock).Locker(ctx), client.RWMutex(lock).Locker(ctx), client.RWMutex(lock).RLocker(ctx)}
}

func TestLockersPanicOnALossAndOnAClosedClient(t *testing.T) {
	client, closed := open(t), open(t)
	lock := name(t)
	for _, locker := range lockers(client, lock) {
		locker.Lock()
		_, err := client.Break(within(t, patience), lock, 0)
		must(t, err)
		wantPanicWith(t, ErrLost, locker.Unlock)
	}
	held := lockers(closed, lock)[0]
	held.Lock()
	must(t, closed.Close())
	wantPanicWith(t, ErrLost, held.Unlock)
	for _, locker := range lockers(closed, lock) {
		wantPanicWith(t, ErrClosed, locker.Lock)
	}
}

func wantPanicWith(t *testing.T, want error, f func()) {
	t.Helper()
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, want) {
			t.Errorf("panicked with %v, not %v", err, want)
		}
	}()
	f()
}

func wantPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("did not panic")
		}
	}()
	f()
}
