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
	name    string  // for the warning
	fence   int64   // of the first name
	further []int64 // the fences of the other names
	permits int64
	ended   atomic.Bool // released or abandoned, or about to be
	over    atomic.Bool // how it ended is known
}

// granted panics for a hold that no lock was granted to.
func (h *Hold) granted() *Hold {
	if h == nil || h.client == nil {
		panic("belay: a nil or zero Hold")
	}
	return h
}

// Fence is the fencing token of the hold's first name. A lost hold keeps it.
func (h *Hold) Fence() int64 { return h.granted().fence }

// Fences are the fencing tokens of all names, in the order in which the lock was given them.
func (h *Hold) Fences() []int64 { return append([]int64{h.granted().fence}, h.further...) }

// Permits says how many permits of a semaphore the hold has; 1 for a lock.
func (h *Hold) Permits() int64 { return h.granted().permits }

// State says whether the lock is still ours. It is a local read, without the network.
func (h *Hold) State() State {
	if h.granted().ended.Load() {
		return Released
	}
	state, err := h.client.local(func(handle uintptr) int64 { return native.BelayHoldState(handle, h.id) })
	if err != nil {
		state = int64(Lost)
	}
	if n, found := h.client.holds.Load(h.id); found && State(state) == Lost {
		<-n.(*news).over.Done() // the pump is about to end the contexts
	}
	return State(state)
}

// Remaining says for how long the lock is certainly ours even if the client hears nothing more; 0 once it is lost or released. It is a
// local read.
func (h *Hold) Remaining() time.Duration {
	remaining, _ := h.granted().client.local(func(handle uintptr) int64 { return native.BelayHoldRemainingMs(handle, h.id) })
	return time.Duration(remaining) * time.Millisecond
}

// Unlock releases the hold. Whatever it returns, this call ends the hold and its contexts. It waits for the server's answer, at most the
// request timeout. [ErrLost]: the hold had been lost; another process may have worked at the same time. [ErrUnavailable]: no answer
// came; the client goes on trying, and the end of the lease frees the name at the latest. [ErrUnknownHold]: it was released before.
func (h *Hold) Unlock() error { return h.UnlockContext(context.Background()) }

// UnlockContext is as [Hold.Unlock], but waits for the server's answer no longer than ctx lives, or 2 ms. If ctx ends first, or has ended
// before the call, the release is sent all the same, and the client goes on trying. Then the error is [ErrCancelled] and
// context.Canceled, or [ErrUnavailable] and context.DeadlineExceeded. The hold has ended, but whether it was lost is not known, and the
// server may keep the name for Error.InDoubt. A loss that is known by then is [ErrLost]. A nil ctx is refused: the hold stays.
func (h *Hold) UnlockContext(ctx context.Context) error {
	if ctx == nil {
		return noContext()
	}
	return h.end(func() error {
		_, err := h.client.submit(ctx, func(handle uintptr, tag int64, patienceMs int64, e *event) bool {
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
	h.over.Store(true)
	return h.client.holds.remove(h.id).end(err)
}

// local calls what needs no server.
func (h *Hold) local(f func(handle uintptr, hold int64) int) error {
	_, err := h.client.local(func(handle uintptr) int64 { return -int64(f(handle, h.id)) })
	var lost *Error
	if errors.As(err, &lost) && lost.Status == ErrLost {
		lost.Message = "hold of '" + h.name + "' was lost"
	}
	return err
}

// Extend lets a hold with a fixed lease last that long from now; it never shortens it.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	return h.ask(ctx, func(id int64) native.Submission { return native.SubmitExtend(id, milliseconds(lease)) })
}

// Verify asks the server whether the lock is still ours: nil, [ErrLost] or [ErrUnavailable]. It costs a round trip; State is local.
func (h *Hold) Verify(ctx context.Context) error {
	return h.ask(ctx, native.SubmitVerify)
}

// Downgrade turns an exclusive hold of a lock into a reader's, without releasing it. It keeps its fence, and readers that are next in
// line get the name, too, with the same fence. There is no way back: an owner that reads and asks to have the name alone gets
// [ErrWouldDeadlock].
func (h *Hold) Downgrade(ctx context.Context) error {
	return h.ask(ctx, native.SubmitDowngrade)
}

func (h *Hold) ask(ctx context.Context, submit func(hold int64) native.Submission) error {
	if h == nil || h.client == nil {
		return neverGranted()
	}
	_, err := h.client.ask(ctx, submit(h.id))
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
		n := h.news()
		go n.each(context.Background(), n.latest(), func(change Change) bool { f(change); return true })
	}
}

// Changes iterates over the hold's state, from Go 1.23 on by range: it yields the latest change, if there was one already, and then each
// new one. It ends after Lost, and when the hold is released or the context ends. The loop keeps the hold from being dropped. A nil ctx
// panics.
func (h *Hold) Changes(ctx context.Context) func(yield func(Change) bool) {
	n := h.granted().news()
	return func(yield func(Change) bool) {
		defer runtime.KeepAlive(h)
		n.each(ctx, n.latest(), yield)
	}
}

// drop is the end of a hold that nobody refers to any more.
func (h *Hold) drop() {
	err := h.local(native.BelayHoldAbandon)
	h.client.holds.remove(h.id).end(nil) //nolint:errcheck // it is nil
	if err == nil {
		// A logger may block.
		go h.client.logger.Warn("a hold was dropped without Unlock; it is abandoned, and free when its lease ends",
			"name", h.name, "fence", h.Fence())
	}
}

// news is what a hold shares with the pump. It does not refer to the hold, so that a dropped one is noticed.
type news struct {
	over     context.Context // ends when the hold is lost, with the cause, or released
	stop     context.CancelCauseFunc
	mu       sync.Mutex
	contexts map[context.Context]context.CancelCauseFunc
	last     *change
}

// change is a link of the chain of changes: whoever has one finds all later ones.
type change struct {
	Change               // of the first link none
	more   chan struct{} // closed when there is a next one
	next   *change
}

func newNews() *news {
	over, stop := context.WithCancelCause(context.Background())
	return &news{over: over, stop: stop, last: &change{more: make(chan struct{})}, contexts: map[context.Context]context.CancelCauseFunc{}}
}

func (n *news) latest() *change {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// each calls f with a change and all later ones, until f returns false, or the hold or the context ends.
func (n *news) each(ctx context.Context, at *change, f func(Change) bool) {
	for ; at.State == 0 || f(at.Change) && at.State != Lost; at = at.next {
		select {
		case <-at.more:
			continue
		case <-ctx.Done():
			return
		case <-n.over.Done():
		}
		select {
		case <-at.more: // the loss that has ended it
		default:
			return
		}
	}
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

func (n *news) tell(news Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(news)
	if news.State == Lost {
		n.finish(&Error{Status: ErrLost, Message: news.Message, Reason: news.Reason})
	}
}

func (n *news) add(news Change) {
	n.last.next = &change{Change: news, more: make(chan struct{})}
	close(n.last.more)
	n.last = n.last.next
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
	var lost *Error
	if errors.As(err, &lost) && n.last.State != Lost { // the release has found it out
		n.add(Change{State: Lost, Reason: lost.Reason, Message: lost.Message})
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
	if h.over.Load() {
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
