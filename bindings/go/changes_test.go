package belay

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestChangesYieldUntilTheLoss(t *testing.T) {
	server := ownServerBeside(t)
	client := openAt(t, server.url(), WithWatchdogLease(1500*time.Millisecond), WithRequestTimeout(500*time.Millisecond))
	hold := mustLock(t, client.Mutex("a"))
	server.tell(t, "pause")
	var seen []Change
	hold.Changes(within(t, patience))(func(change Change) bool {
		seen = append(seen, change)
		return true
	})
	server.tell(t, "continue")
	if last := seen[len(seen)-1]; seen[0].State != AtRisk || seen[0].Reason != ReasonNotRenewed || last.State != Lost || last.Reason != ReasonNotRenewed {
		t.Errorf("changes %+v", seen)
	}
	late := 0
	hold.Changes(within(t, patience))(func(change Change) bool {
		late++
		return change.State == Lost
	})
	if late != 1 {
		t.Errorf("%d changes of a hold that was lost", late)
	}
	wantError(t, hold.Unlock(), ErrLost)
}

// However slow a listener is. One that comes after the loss hears of that alone.
func TestNoChangeIsMissed(t *testing.T) {
	n := newNews()
	n.tell(Change{State: AtRisk})
	listen := func() chan State {
		states := make(chan State)
		go n.each(context.Background(), n.latest(), func(change Change) bool { states <- change.State; return true })
		return states
	}
	slow := listen()
	for _, want := range []State{AtRisk, Held, AtRisk, Lost} {
		if state := <-slow; state != want {
			t.Errorf("slow: %v, not %v", state, want)
		}
		if want == AtRisk && n.over.Err() == nil {
			for _, state := range []State{Held, AtRisk, Lost} {
				n.tell(Change{State: state})
			}
		}
	}
	if state := <-listen(); state != Lost {
		t.Errorf("late: %v", state)
	}
}

func TestALossThatTheReleaseFindsIsTold(t *testing.T) {
	n := newNews()
	states := make(chan State, 2)
	at := n.latest()
	wantLost(t, n.end(&Error{Status: ErrLost, Reason: ReasonGone}), ReasonGone)
	n.each(context.Background(), at, func(change Change) bool { states <- change.State; return true })
	if len(states) != 1 || <-states != Lost {
		t.Error("not told once")
	}
}

// Only the answer to a release ends what the hold is asked for meanwhile.
func TestAContextIsAskedForDuringTheRelease(t *testing.T) {
	client := open(t)
	hold := mustLock(t, client.Mutex(name(t)))
	hold.ended.Store(true) // as Unlock does first
	ctx := hold.Context(context.Background())
	if ctx.Err() != nil {
		t.Error("it has ended before the release")
	}
	hold.ended.Store(false)
	must(t, hold.Unlock())
	if ctx.Err() == nil {
		t.Error("it lives on after the release")
	}
	wantNothingLeft(t, client)
}

func TestChangesEndWithTheHoldAndTheContext(t *testing.T) {
	hold := mustLock(t, open(t).Mutex(name(t)))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	for _, ctx := range []context.Context{ctx, context.Background(), context.Background()} {
		go func(ctx context.Context) {
			hold.Changes(ctx)(func(change Change) bool {
				t.Errorf("a change: %+v", change)
				return true
			})
			ended <- struct{}{}
		}(ctx)
	}
	cancel()
	<-ended
	must(t, hold.Unlock())
	<-ended
	<-ended
	hold.Changes(context.Background())(func(Change) bool { panic("of a released hold") })
}

func TestChangesMayBeLeft(t *testing.T) {
	client := open(t)
	hold := mustLock(t, client.Mutex(name(t)))
	_, err := client.Break(within(t, patience), hold.name, 0)
	must(t, err)
	calls := 0
	hold.Changes(within(t, patience))(func(Change) bool {
		calls++
		return false
	})
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	wantError(t, hold.Unlock(), ErrLost)
}

func TestChangesKeepTheirHold(t *testing.T) {
	client := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func(changes func(func(Change) bool)) {
		changes(func(Change) bool { return true })
		close(ended)
	}(mustLock(t, client.Mutex(name(t))).Changes(ctx))
	for i := 0; i < 10; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if metrics(t, client).Holds != 1 {
		t.Error("the hold was dropped while its changes are waited for")
	}
	cancel()
	<-ended
	eventually(t, "the hold is dropped after the loop", func() bool {
		runtime.GC()
		return metrics(t, client).Holds == 0
	})
}
