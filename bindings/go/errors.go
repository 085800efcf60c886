package belay

import (
	"context"
	"regexp"
	"strings"
	"time"

	"belay.invalid/belay/internal/native"
)

// Error says that this is a Status: it makes each one an error of its own, for errors.Is.
func (s Status) Error() string { return "belay: " + s.String() }

// Class says what s means for the caller. It is ClassRefused for a status that the library does not know.
func (s Status) Class() Class { return Class(native.BelayStatusClass(int64(s))) }

// Error says why a call failed. errors.Is finds its Status, such as [ErrTimeout], and what ended the context.
type Error struct {
	Status  Status
	Message string        // what failed, where, and the server's own words; may be empty
	InDoubt time.Duration // for how long the unknown outcome may still take effect; 0: the outcome is known
	Reason  Reason        // of ErrLost: why
	Fence   int64         // of ErrStaleFence: the newest fence of the key
	Count   int64         // of ErrInUse: how many are to go until the latch opens
	// Remaining is, of ErrTimeout, what is left of the other holder's lease and lock-delay. Whoever renews the lease has
	// the name for longer. 0: not known.
	Remaining time.Duration
	cause     error // context.Canceled or context.DeadlineExceeded, if the context has ended
}

// Error returns the message and the status.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Status.Error()
	}
	return "belay: " + e.Message + " (" + e.Status.String() + ")"
}

// Unwrap returns the Status and, if a context ended the call, the context's error.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Status}
	}
	return []error{e.Status, e.cause}
}

var (
	outOfRange = regexp.MustCompile(`^([a-z_]+?)(_ms)? was (\S+): (.+) is allowed$`)
	number     = regexp.MustCompile(`^-?\d+|\b\d+`)
	underline  = regexp.MustCompile(`_.`)
)

// inGo says in Go's words what the library found out of range: a name as here, and times as durations.
func inGo(message string) string {
	part := outOfRange.FindStringSubmatch(message)
	if part == nil {
		return message
	}
	name := underline.ReplaceAllStringFunc(part[1], func(s string) string { return strings.ToUpper(s[1:]) })
	value, allowed := part[3], part[4]
	if part[2] != "" {
		duration := func(ms string) string {
			if d, err := time.ParseDuration(ms + "ms"); err == nil {
				return d.String()
			}
			return ms + "ms" // more than a Duration has
		}
		value, allowed = number.ReplaceAllStringFunc(value, duration), number.ReplaceAllStringFunc(allowed, duration)
	}
	return name + " was " + value + ": " + allowed + " is allowed"
}

// failure makes the error of an event.
func (e *event) failure(ctx context.Context) error {
	inDoubt := time.Duration(e[native.FieldInDoubtMs]) * time.Millisecond
	if e.status() == ErrCancelled && ctx.Err() != nil {
		return interrupted(ctx, inDoubt, e.message())
	}
	err := &Error{
		Status:  e.status(),
		Message: inGo(e.message()),
		InDoubt: inDoubt,
		Reason:  Reason(e[native.FieldReason]),
		Fence:   e[native.FieldFence],
		Count:   e[native.FieldCount],
	}
	if err.Status == ErrTimeout {
		err.Remaining = time.Duration(e[native.FieldRemainingMs]) * time.Millisecond
	}
	if err.Status == ErrTimeout || err.Status == ErrUnavailable {
		err.cause = ended(ctx)
	}
	return err
}

// ended is why the context has ended, if it has. The library may be earlier than the context's own timer.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && time.Until(deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func noContext() error { return &Error{Status: ErrInvalidArgument, Message: "nil Context"} }

// interrupted is the error of a call whose context has ended. The trouble is why the server has not answered. If it
// has, there is none, and a deadline is a timeout.
func interrupted(ctx context.Context, inDoubt time.Duration, trouble string) error {
	err := &Error{Status: ErrCancelled, Message: "the context was cancelled", InDoubt: inDoubt, cause: ctx.Err()}
	if err.cause == context.DeadlineExceeded {
		err.Status, err.Message = ErrTimeout, "the context's deadline has passed"
	}
	if trouble != "" {
		err.Message += ": " + trouble
	}
	if trouble != "" && err.Status == ErrTimeout {
		err.Status = ErrUnavailable
	}
	return err
}

// opened says whether Open made the client, also if it is closed by now.
func (c *Client) opened() bool { return c != nil && c.ended != nil }

// refusal is the error of a call that finds no client of the library.
func (c *Client) refusal() error {
	if !c.opened() {
		return &Error{Status: ErrInvalidArgument, Message: "no client: neither Open nor a method of its Client made this value"}
	}
	return &Error{Status: ErrClosed, Message: "the client has been closed"}
}
