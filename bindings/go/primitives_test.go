package belay

import (
	"context"
	"testing"
	"time"
)

func TestSemaphoreHasPermits(t *testing.T) {
	client := open(t)
	gpu := client.Semaphore(name(t), 3)
	two, err := gpu.Acquire(within(t, patience), 2)
	must(t, err)
	if two.Permits() != 2 {
		t.Errorf("permits %d", two.Permits())
	}
	if _, ok, err := gpu.TryAcquire(within(t, patience), 2); ok || err != nil {
		t.Errorf("four of three permits: %v, %v", ok, err)
	}
	all, ok, err := gpu.TryAcquire(within(t, patience), 0)
	if !ok || err != nil || all.Permits() != 1 {
		t.Fatalf("all that are free: %v, %v", ok, err)
	}
	if available, limit, err := gpu.Available(within(t, patience)); available != 0 || limit != 3 || err != nil {
		t.Errorf("available %d of %d, %v", available, limit, err)
	}
	if available, err := gpu.SetLimit(within(t, patience), 5); available != 2 || err != nil {
		t.Errorf("available %d, %v", available, err)
	}
	_, err = gpu.Acquire(within(t, patience), 1)
	wantError(t, err, ErrLimitDiffers)
	must(t, two.Unlock())
	must(t, all.Unlock())
}

func TestSemaphoreWithoutALimit(t *testing.T) {
	client := open(t)
	unset := client.Semaphore(name(t), 0)
	_, err := unset.Acquire(within(t, patience), 1)
	wantError(t, err, ErrNotFound)
	_, _, err = unset.Available(within(t, patience))
	wantError(t, err, ErrNotFound)
	if available, err := unset.SetLimit(within(t, patience), 1); available != 1 || err != nil {
		t.Errorf("available %d, %v", available, err)
	}
	hold, err := unset.Acquire(within(t, patience), 1)
	must(t, err)
	must(t, hold.Unlock())
	_, err = unset.SetLimit(within(t, patience), -1)
	wantError(t, err, ErrInvalidArgument)
}

func TestLatchOpensWhenCountedDown(t *testing.T) {
	client := open(t)
	latch := client.Latch(name(t))
	_, err := latch.Count(within(t, patience))
	wantError(t, err, ErrNotFound)
	_, err = latch.Wait(within(t, patience), 0)
	wantError(t, err, ErrNotFound)
	first, err := latch.Set(within(t, patience), 3, time.Minute)
	must(t, err)
	_, err = latch.Set(within(t, patience), 3, time.Minute)
	wantError(t, err, ErrInUse)
	if inUse := err.(*Error); inUse.Count != 3 {
		t.Errorf("to go: %d", inUse.Count)
	}
	if _, ok, err := latch.TryWait(within(t, patience), 0); ok || err != nil {
		t.Errorf("open: %v, %v", ok, err)
	}
	opened := make(chan int64)
	go func() {
		generation, err := latch.Wait(context.Background(), first)
		if err != nil {
			t.Error(err)
		}
		opened <- generation
	}()
	if left, err := latch.CountDown(within(t, patience), 2); left != 1 || err != nil {
		t.Errorf("left %d, %v", left, err)
	}
	if count, err := latch.Count(within(t, patience)); count != 1 || err != nil {
		t.Errorf("count %d, %v", count, err)
	}
	_, err = latch.CountDown(within(t, patience), 1)
	must(t, err)
	if generation := <-opened; generation != first {
		t.Errorf("opened %d, set %d", generation, first)
	}
	second, err := latch.Set(within(t, patience), 1, 0)
	must(t, err)
	if second <= first {
		t.Errorf("generation %d after %d", second, first)
	}
	if generation, ok, err := latch.TryWait(within(t, patience), first); !ok || generation != first || err != nil {
		t.Errorf("the first generation: %d, %v, %v", generation, ok, err)
	}
	_, err = client.Break(within(t, patience), latch.name, second)
	must(t, err)
	_, err = latch.Wait(within(t, patience), second)
	wantError(t, err, ErrNotFound)
}

func TestInspectTellsHoldersAndWaiters(t *testing.T) {
	client := open(t, WithLabel("billing"))
	lock := name(t)
	if found, err := client.Inspect(within(t, patience), lock); err != nil || found.Primitive != PrimitiveNone || found.Total != 0 {
		t.Errorf("a free name: %+v, %v", found, err)
	}
	hold := mustLock(t, client.Mutex(lock, Lease(time.Minute)))
	other := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := other.RWMutex(lock).RLock(ctx)
		ended <- err
	}()
	found, err := client.Inspect(within(t, patience), lock+" that is free")
	if err != nil || found.Server == "" || found.Slot != -1 {
		t.Errorf("found %+v, %v", found, err)
	}
	eventually(t, "a waiter", func() bool {
		var err error
		found, err = client.Inspect(within(t, patience), lock)
		must(t, err)
		return len(found.Waiters) == 1
	})
	cancel()
	wantError(t, <-ended, context.Canceled)
	holder := found.Holders[0]
	if found.Primitive != PrimitiveLock || found.Total != 2 || holder.Client != client.ID() || holder.Label != "billing" || holder.Host == "" ||
		holder.PID == 0 || holder.Fence != hold.Fence() || holder.Lease <= 0 || holder.Lease > time.Minute || holder.Holds != 1 {
		t.Errorf("found %+v", found)
	}
	if waiter := found.Waiters[0]; waiter.Client != other.ID() || !waiter.Shared {
		t.Errorf("waiter %+v", waiter)
	}
	must(t, hold.Unlock())
	gpu := client.Semaphore(lock+"gpu", 8)
	permits, err := gpu.Acquire(within(t, patience), 3)
	must(t, err)
	found, err = client.Inspect(within(t, patience), lock+"gpu")
	must(t, err)
	if found.Primitive != PrimitiveSemaphore || found.Limit != 8 || found.Available != 5 || found.Holders[0].Permits != 3 {
		t.Errorf("found %+v", found)
	}
	must(t, permits.Unlock())
	generation, err := client.Latch(lock+"latch").Set(within(t, patience), 2, time.Minute)
	must(t, err)
	found, err = client.Inspect(within(t, patience), lock+"latch")
	must(t, err)
	if found.Primitive != PrimitiveLatch || found.Generation != generation || found.Count != 2 {
		t.Errorf("found %+v", found)
	}
}

func TestListHasALimit(t *testing.T) {
	client := open(t)
	lock := name(t)
	hold := mustLock(t, client.Multi(lock+"1", lock+"2", lock+"3"))
	names, total, err := client.List(within(t, patience), lock+"*", 2)
	if len(names) != 2 || total < 3 || err != nil {
		t.Errorf("names %q of %d, %v", names, total, err)
	}
	must(t, hold.Unlock())
	_, _, err = client.List(within(t, patience), "", 2)
	wantError(t, err, ErrInvalidArgument)
}

func TestNamesAreIterated(t *testing.T) {
	client := open(t)
	lock := name(t)
	hold := mustLock(t, client.Multi(lock+"1", lock+"2\x00", lock+"3"))
	for _, limit := range []int{3, 1} {
		found := map[string]bool{}
		client.Names(within(t, patience), lock+"*")(func(name string, err error) bool {
			must(t, err)
			found[name] = true
			return len(found) < limit
		})
		if len(found) != limit || limit == 3 && !(found[lock+"1"] && found[lock+"2\x00"] && found[lock+"3"]) {
			t.Errorf("up to %d names: %v", limit, found)
		}
	}
	must(t, hold.Unlock())
	wantError(t, namesError(open(t), within(t, 0)), context.DeadlineExceeded)
	client.Names(within(t, patience), "")(func(name string, err error) bool {
		wantError(t, err, ErrInvalidArgument)
		return true
	})
	wantNothingLeft(t, client)
}

func TestBreakOfAnotherFenceChangesNothing(t *testing.T) {
	client := open(t)
	lock := name(t)
	hold := mustLock(t, client.Mutex(lock))
	losers, err := client.Break(within(t, patience), lock, hold.Fence()-1)
	if len(losers) != 0 || err != nil {
		t.Errorf("losers %+v, %v", losers, err)
	}
	must(t, hold.Unlock())
}

func TestFencedWriteRefusesOlderFences(t *testing.T) {
	client := open(t)
	key, lock := name(t), client.Mutex(name(t))
	old := mustLock(t, lock)
	must(t, old.Unlock())
	newer := mustLock(t, lock)
	defer newer.Unlock()
	if reply, err := client.FencedWrite(within(t, patience), key, newer.Fence(), "SET", "a\x00b"); reply != "OK" || err != nil {
		t.Errorf("reply %q, %v", reply, err)
	}
	if reply, err := client.FencedWrite(within(t, patience), key, newer.Fence(), "GETSET", "c"); reply != "a\x00b" || err != nil {
		t.Errorf("reply %q, %v", reply, err)
	}
	if reply, err := client.FencedWrite(within(t, patience), key, newer.Fence(), "GETSET", ""); reply != "c" || err != nil {
		t.Errorf("reply %q, %v", reply, err)
	}
	if reply, err := client.FencedWrite(within(t, patience), key, newer.Fence(), "SET", "d", "GET"); reply != "" || err != nil {
		t.Errorf("reply %q, %v: the empty word was not written", reply, err)
	}
	_, err := client.FencedWrite(within(t, patience), key, old.Fence(), "SET", "late")
	wantError(t, err, ErrStaleFence)
	if stale := err.(*Error); stale.Fence != newer.Fence() {
		t.Errorf("newest fence %d, want %d", stale.Fence, newer.Fence())
	}
	_, err = client.FencedWrite(within(t, patience), key, newer.Fence(), "LPUSH", "x")
	wantError(t, err, ErrWrongType)
	_, err = client.FencedWrite(within(t, patience), key, newer.Fence(), "INCR")
	wantError(t, err, ErrServerError)
	_, err = client.FencedWrite(within(t, patience), key, newer.Fence(), "FLUSHALL")
	wantError(t, err, ErrInvalidArgument)
}
