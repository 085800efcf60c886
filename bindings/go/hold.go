package belay

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"belay.invalid/belay/internal/native"
)

// Hold stands for a lock, or for permits of a semaphore, until you unlock it. Any goroutine may use it.
//
// A hold that the program drops without Unlock is abandoned when it is garbage-collected, and the log warns of it: the client stops
// renewing it, and others get the name when the lease ends. It is not released, as its work may still go on. A context of the hold
// keeps it from being dropped.
type Hold struct {
	client  *Client
	id      int64
	name    string // for the warning
	fences  []int64
	permits int64
	ended   atomic.Bool // released or abandoned
}

// granted panics for a hold that no lock was granted to.
func (h *Hold) granted() *Hold {
	if h == nil || h.client == nil {
		panic("belay: a nil or zero Hold")
	}
	return h
}

// Fence is the fencing token of the hold's first name. A lost hold keeps it.
func (h *Hold) Fence() int64 { return h.granted().fences[0] }

// Fences are the fencing tokens of all names, in the order in which the lock was given them.
func (h *Hold) Fences() []int64 { return append([]int64(nil), h.granted().fences...) }

// Permits says how many permits of a semaphore the hold has; 1 for a lock.
func (h *Hold) Permits() int64 { return h.granted().permits }

// State says whether the lock is still ours. It is a local read, without the network.
func (h *Hold) State() State {
	if h.granted().ended.Load() {
		return Released
	}
	state := Lost
	h.client.with(func(handle uintptr) { state = State(max(0, native.BelayHoldState(handle, h.id))) })
	if n, found := h.client.holds.Load(h.id); found && state == Lost {
		<-n.(*news).over.Done() // the pump is about to end the contexts
	}
	return state
}

// Remaining says for how long the lock is certainly ours even if the client hears nothing more; 0 once it is lost or released. It is a
// local read.
func (h *Hold) Remaining() time.Duration {
	remaining := int64(0)
	h.granted().client.with(func(handle uintptr) { remaining = native.BelayHoldRemainingMs(handle, h.id) })
	return time.Duration(max(0, remaining)) * time.Millisecond
}

// Unlock releases the hold. Whatever it returns, this call ends the hold and its contexts. It waits for the server's answer, at most the
// request timeout. [ErrLost]: the hold had been lost; another process may have worked at the same time. [ErrUnavailable]: no answer
// came; the client goes on trying, and the end of the lease frees the name at the latest. [ErrUnknownHold]: it was released before.
func (h *Hold) Unlock() error {
	return h.end(func() error {
		_, err := h.client.run(context.Background(), func(handle uintptr, tag int64, patienceMs int64, e *event) bool {
			return native.ReleaseRow(handle, tag, h.id, patienceMs, e[:]) != 0
		})
		return err
	})
}

// UnlockNoWait releases the hold without waiting for the server. The client sends the release in the background. It returns [ErrLost] if
// the hold had been lost.
func (h *Hold) UnlockNoWait() error {
	return h.end(func() error { return h.local(native.BelayReleaseNowait) })
}

// Abandon forgets the hold and stops renewing it, without telling the server: others get the name when the lease ends.
func (h *Hold) Abandon() error {
	return h.end(func() error { return h.local(native.BelayHoldAbandon) })
}

// end ends the hold by what f does, once.
func (h *Hold) end(f func() error) error {
	if h == nil || h.client == nil {
		return neverGranted()
	}
	if h.ended.Swap(true) {
		return &Error{Status: ErrUnknownHold, Message: "hold of '" + h.name + "' has been released"}
	}
	runtime.SetFinalizer(h, nil)
	err := f()
	return h.client.holds.remove(h.id).end(err)
}

// local calls what needs no server.
func (h *Hold) local(f func(handle uintptr, hold int64) int) error {
	status := 0
	if !h.client.with(func(handle uintptr) { status = f(handle, h.id) }) {
		return h.client.refusal()
	}
	if status != 0 {
		return &Error{Status: Status(status)}
	}
	return nil
}

// Extend lets a hold with a fixed lease last that long from now; it never shortens it.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	return h.ask(ctx, func(handle uintptr, tag int64) int {
		return native.BelaySubmitExtend(handle, tag, h.id, milliseconds(lease))
	})
}

// Verify asks the server whether the lock is still ours: nil, [ErrLost] or [ErrUnavailable]. It costs a round trip; State is local.
func (h *Hold) Verify(ctx context.Context) error {
	return h.ask(ctx, func(handle uintptr, tag int64) int { return native.BelaySubmitVerify(handle, tag, h.id) })
}

// Downgrade turns an exclusive hold of a lock into a reader's, without releasing it. It keeps its fence, and readers that are next in
// line get the name, too, with the same fence. There is no way back: an owner that reads and asks to have the name alone gets
// [ErrWouldDeadlock].
func (h *Hold) Downgrade(ctx context.Context) error {
	return h.ask(ctx, func(handle uintptr, tag int64) int { return native.BelaySubmitDowngrade(handle, tag, h.id) })
}

func (h *Hold) ask(ctx context.Context, submit native.Submission) error {
	if h == nil || h.client == nil {
		return neverGranted()
	}
	_, err := h.client.ask(ctx, submit)
	return err
}

func neverGranted() error {
	return &Error{Status: ErrUnknownHold, Message: "a nil or zero Hold: it was never granted"}
}

// Context returns a child of parent for the work under the lock. It ends when the lock is lost, with an [*Error] as its cause
// (context.Cause) that says why, and when the hold is released: before Unlock returns. A nil parent
// panics, as in package context.
func (h *Hold) Context(parent context.Context) context.Context {
	h.granted()
	ctx, cancel := context.WithCancelCause(parent)
	h.news().follow(ctx, cancel)
	return holdContext{ctx, h}
}

// holdContext keeps its hold from being dropped.
type holdContext struct {
	context.Context
	hold *Hold
}

// Change is news of a hold.
type Change struct {
	State   State  // Lost, AtRisk, or Held after AtRisk
	Reason  Reason // of Lost and AtRisk
	Message string // for people
}

// OnChange has f called with each change of the hold's state until its release, one at a time; also with the latest one if there was
// one already. AtRisk: a third of the lease is left, and its renewal fails or has stopped. A leader stops its work then, if it can.
// An f that refers to the hold keeps it from being dropped. A nil f is ignored.
func (h *Hold) OnChange(f func(Change)) {
	if h.granted(); f != nil {
		h.news().listen(f)
	}
}

// Changes iterates over the hold's state, from Go 1.23 on by range: it yields the latest change, if there was one already, and then each new
// one. A slow loop misses those that have been overtaken, but never Lost. It ends after Lost, and when the hold is released or the context
// ends. The loop keeps the hold from being dropped.
func (h *Hold) Changes(ctx context.Context) func(yield func(Change) bool) {
	n := h.granted().news()
	return func(yield func(Change) bool) {
		defer runtime.KeepAlive(h)
		for seen, over := (Change{}), false; ; {
			last, more := n.latest()
			if last != seen && !yield(last) || last.State == Lost || over {
				return
			}
			seen = last
			select {
			case <-more:
			case <-n.over.Done():
				over = true
			case <-ctx.Done():
				over = true
			}
		}
	}
}

// drop is the end of a hold that nobody refers to any more.
func (h *Hold) drop() {
	abandoned := false
	h.client.with(func(handle uintptr) { abandoned = native.BelayHoldAbandon(handle, h.id) == 0 })
	h.client.holds.remove(h.id)
	if !abandoned {
		return
	}
	logger, name, fence := h.client.logger, h.name, h.Fence()
	h.client.logs.run(func() {
		logger.Warn("a hold was dropped without Unlock; it is abandoned, and free when its lease ends", "name", name, "fence", fence)
	})
}

// news is what a hold shares with the pump. It does not refer to the hold, so that a dropped one is noticed.
type news struct {
	over      context.Context // ends when the hold is lost, with the cause, or released
	stop      context.CancelCauseFunc
	mu        sync.Mutex
	contexts  map[context.Context]context.CancelCauseFunc
	last      Change
	more      chan struct{} // closed by the next change
	listeners []func(Change)
	serial    serial
}

func newNews() *news {
	over, stop := context.WithCancelCause(context.Background())
	return &news{over: over, stop: stop, more: make(chan struct{}), contexts: map[context.Context]context.CancelCauseFunc{}}
}

// follow ends a context with the hold.
func (n *news) follow(ctx context.Context, cancel context.CancelCauseFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over.Err() != nil {
		cancel(context.Cause(n.over))
		return
	}
	n.contexts[ctx] = cancel
	context.AfterFunc(ctx, func() { // must not refer to the hold
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.contexts, ctx)
	})
}

// finish ends the contexts of a hold that is lost, or released if cause is nil. The first cause stays.
func (n *news) finish(cause error) {
	for _, cancel := range n.contexts {
		cancel(cause)
	}
	n.stop(cause) // last: State waits for it
}

func (n *news) listen(f func(Change)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, f)
	if last := n.last; last.State != 0 {
		n.serial.run(func() { f(last) })
	}
}

// latest returns the last change and what closes with the next one.
func (n *news) latest() (Change, chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last, n.more
}

func (n *news) tell(change Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = change
	close(n.more)
	n.more = make(chan struct{})
	if change.State == Lost {
		n.finish(&Error{Status: ErrLost, Message: change.Message, Reason: change.Reason})
	}
	for _, f := range n.listeners {
		n.serial.run(func() { f(change) })
	}
}

// end ends the contexts of a hold whose release ended with err. If it was lost, the pump may know why. n is nil if nobody asked for news.
func (n *news) end(err error) error {
	if errors.Is(err, ErrClosed) {
		err = &Error{Status: ErrLost, Reason: ReasonClosed, Message: "the client has been closed"}
	}
	if n == nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !errors.Is(err, ErrLost) {
		n.finish(nil)
		return err
	}
	n.finish(err)
	return context.Cause(n.over)
}

// holds are the news by the number of the hold: of those whose news somebody has asked for, and of those that had some.
type holds struct{ sync.Map }

// of returns the news of a hold, and whether there were some before.
func (t *holds) of(id int64) (n *news, before bool) {
	found, before := t.LoadOrStore(id, newNews())
	return found.(*news), before
}

// remove returns nil if there are none.
func (t *holds) remove(id int64) *news {
	n, _ := t.LoadAndDelete(id)
	found, _ := n.(*news)
	return found
}

// news returns the news of h. The pump may have had some before. What ends h meanwhile finds them, or is found.
func (h *Hold) news() *news {
	n, _ := h.client.holds.of(h.id)
	if h.ended.Load() {
		h.client.holds.remove(h.id).end(nil) //nolint:errcheck // it is nil
	}
	return n
}

var states = map[int64]State{native.KindLost: Lost, native.KindAtRisk: AtRisk, native.KindRecovered: Held}

// tell passes an event on to its hold. If the hold has been released, nobody is left to tell, and nobody would ever remove its news.
func (t *holds) tell(handle uintptr, e *event) {
	id := e[native.FieldHold]
	n, before := t.of(id)
	if !before && native.BelayHoldState(handle, id) < 0 {
		t.remove(id)
	}
	n.tell(Change{State: states[e[native.FieldKind]], Reason: Reason(e[native.FieldReason]), Message: e.message()})
}
