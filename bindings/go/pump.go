package belay

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"belay.invalid/belay/internal/native"
)

// Each call submits something under a tag. Its one event comes back in the same crossing, if that waits and the answer is quick, or by
// the pump: a goroutine per client that takes the library's events whenever the descriptor is readable. The library's own thread never
// enters Go.

// event has the numbers of an event of the library, and last the event itself if it has more than numbers, or 0.
type event [native.Fields + 1]int64

const patienceMs = 2 // how long a crossing waits for its event; more than a round trip in a data centre

// How many goroutines may be in the library at once: each needs a thread of the system, and Go makes more for the others meanwhile.
const maxCrossings = 8

// How many of them may wait there: one of Go's processors stays free for the pump and for those whose answer it brings. When the only one
// waited in the library, or both of two did, sixteen goroutines on one name sometimes took a hundred times as long.
var maxPatient = int32(min(4, runtime.GOMAXPROCS(0)-1))

var (
	crossings atomic.Int32                        // those in the library, and those that wait for their turn to enter it
	turns     = make(chan struct{}, maxCrossings) // one for each that left while others waited
	patient   atomic.Int32
)

// rows are what the library writes events to. One per call would be garbage: what C gets a pointer to is never on the stack.
var rows = sync.Pool{New: func() any { return new(event) }}

const batch = 64 // how many events the pump takes in one crossing

// calls is where a call and its event meet that did not come back in the call's crossing.
type calls struct {
	last    atomic.Int64 // tag
	mu      sync.Mutex
	pending map[int64]chan event
}

// meet gives the call and its event the same channel, whichever comes first.
func (t *calls) meet(tag int64) chan event {
	t.mu.Lock()
	defer t.mu.Unlock()
	met, found := t.pending[tag]
	if found {
		delete(t.pending, tag)
		return met
	}
	met = make(chan event, 1)
	t.pending[tag] = met
	return met
}

// submission submits under a tag. It returns whether the event has come already; then e has it.
type submission func(handle uintptr, tag int64, patienceMs int64, e *event) bool

// run submits, waits for the event, and returns it; of a failure an empty one. If the context ends, the submission is cancelled; a change
// that was sent is not undone, and its event still tells how it ended. The caller frees the event.
func (c *Client) run(ctx context.Context, submit submission) (event, error) {
	if ctx == nil {
		return event{}, noContext()
	}
	if ctx.Err() != nil {
		return event{}, interrupted(ctx, 0, "it ended before the call, which sent nothing")
	}
	return c.submit(ctx, submit)
}

// submit is as run, but submits also if the context has ended.
func (c *Client) submit(ctx context.Context, submit submission) (event, error) {
	row, tag, came := rows.Get().(*event), int64(0), false
	lives := c.with(func(handle uintptr) {
		tag = c.calls.last.Add(1)
		came = patiently(handle, tag, row, submit)
	})
	e := *row
	rows.Put(row)
	if !lives {
		return event{}, c.refusal()
	}
	if !came {
		meeting := c.calls.meet(tag)
		select {
		case e = <-meeting:
		case <-ctx.Done():
			c.with(func(handle uintptr) { native.BelayCancel(handle, tag) })
			e = <-meeting
		}
	}
	if e.status() != 0 {
		defer e.free()
		return event{}, e.failure(ctx)
	}
	return e, nil
}

// patiently lets the submission wait inside if not too many do.
func patiently(handle uintptr, tag int64, e *event, submit submission) bool {
	defer patient.Add(-1)
	if patient.Add(1) > maxPatient {
		return submit(handle, tag, 0, e)
	}
	return submit(handle, tag, patienceMs, e)
}

// ask runs a submission that has no form which waits inside.
func (c *Client) ask(ctx context.Context, submit native.Submission) (event, error) {
	return c.run(ctx, func(handle uintptr, tag int64, _ int64, e *event) bool {
		refusal := submit(handle, tag)
		*e = event{native.FieldStatus: int64(refusal)}
		return refusal != 0
	})
}

// with calls f with the library's client, which lives until f returns. It returns false if there is none, or none any more.
func (c *Client) with(f func(handle uintptr)) bool {
	if c == nil {
		return false
	}
	enter()
	defer leave()
	c.inside.RLock()
	defer c.inside.RUnlock()
	if c.handle == 0 {
		return false
	}
	f(c.handle)
	return true
}

func enter() {
	if crossings.Add(1) > maxCrossings {
		<-turns
	}
}

func leave() {
	if crossings.Add(-1) >= maxCrossings {
		turns <- struct{}{}
	}
}

// local calls what needs no server: it gives a number, or minus a status.
func (c *Client) local(f func(handle uintptr) int64) (int64, error) {
	number := int64(0)
	if !c.with(func(handle uintptr) { number = f(handle) }) {
		return 0, c.refusal()
	}
	if number < 0 {
		return 0, &Error{Status: Status(-number)}
	}
	return number, nil
}

// startPump begins to take events. The poller gets a descriptor of its own, as it closes it.
func (c *Client) startPump() error {
	fd := native.BelayClientFd(c.handle)
	if fd < 0 {
		return &Error{Status: Status(-fd), Message: "no descriptor for events"}
	}
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return &Error{Status: ErrUnavailable, Message: "no descriptor for events: " + errno.Error(), cause: errno}
	}
	wake := os.NewFile(own, "belay events")
	conn, _ := wake.SyscallConn() // of an open file it always is there
	go func() {
		defer close(c.ended)
		defer close(c.logs)
		defer wake.Close()
		rows := make([]int64, batch*len(event{}))
		conn.Read(func(uintptr) bool { return c.drain(rows) }) //nolint:errcheck // ends with the END event
	}()
	go c.passLogs()
	return nil
}

// drain takes all events that wait. It returns true after the last one of all.
func (c *Client) drain(rows []int64) bool {
	for {
		count := native.NextRows(c.handle, 0, len(event{}), rows)
		for i := 0; i < count; i++ {
			e := (*event)(rows[i*len(event{}):])
			if e[native.FieldKind] == native.KindEnd {
				e.free()
				return true
			}
			c.deliver(e)
		}
		if count < batch {
			return false
		}
	}
}

func (c *Client) deliver(e *event) {
	if tag := e[native.FieldTag]; tag != 0 {
		c.calls.meet(tag) <- *e
		return
	}
	switch e[native.FieldKind] {
	case native.KindLost, native.KindAtRisk, native.KindRecovered:
		c.holds.tell(c.handle, e)
	case native.KindLog:
		c.log(e)
	}
	e.free()
}

func (e *event) status() Status { return Status(e[native.FieldStatus]) }

func (e *event) object() uintptr { return uintptr(e[native.Fields]) }

func (e *event) free() {
	if e.object() != 0 {
		native.BelayEventFree(e.object())
		e[native.Fields] = 0
	}
}

// message is empty if the event has only numbers, or nothing to say.
func (e *event) message() string {
	if e.object() == 0 {
		return ""
	}
	return native.BelayEventMessage(e.object())
}

func (e *event) number(member, field int) int64 {
	return native.BelayEventMemberInt(e.object(), member, field)
}

func (e *event) text(member, field int) string {
	return native.BelayEventMemberText(e.object(), member, field)
}

func (e *event) duration(member, field int) time.Duration {
	return time.Duration(e.number(member, field)) * time.Millisecond
}
