package belay

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"belay.invalid/belay/internal/native"
)

// Option sets something of a [Client].
type Option func(*config)

type config struct {
	values []value
	logger *slog.Logger
}

type value struct {
	name, text string // as the library has them
	typed      bool   // set by a function of its own: the caller knows neither name nor unit
}

// With sets an option of the library by its name: With("watchdog_lease_ms", "10000"). [Options] lists them.
func With(name, text string) Option {
	return set(value{name, text, false})
}

func set(v value) Option { return func(c *config) { c.values = append(c.values, v) } }

func withNumber(name string, number int64) Option {
	return set(value{name, decimal(number), true})
}

// WithLogger sends what the client has to tell to logger: the lines of those levels that it has enabled now. Default: warnings and errors
// to slog.Default(), such as of a server that cannot be reached and of a [Hold] that was dropped.
func WithLogger(logger *slog.Logger) Option {
	if logger == nil {
		return nil
	}
	return func(c *config) {
		c.logger = logger
		withNumber("log_events", enabledLevel(logger))(c)
	}
}

// enabledLevel is the library's number of the most talkative level that logger takes.
func enabledLevel(logger *slog.Logger) int64 {
	level := int64(native.LogLevelDebug)
	for level > native.LogLevelNone && !logger.Enabled(context.Background(), slogLevels[level]) {
		level--
	}
	return level
}

// OptionInfo describes an option of the library.
type OptionInfo struct {
	Name     string
	About    string // a few words for people
	Unit     string // "ms"; empty for a text, a level and a plain number
	Default  string // its value in this program, unless the environment or an Option sets it
	Range    string // what is allowed; empty if only its use tells
	Variable string // the environment variable that sets it, if there is one
	Secret   bool   // nobody may see its value
}

// Options lists the options of the library, for [With] and for the parameters of the URL.
func Options() []OptionInfo {
	var options []OptionInfo
	for name := native.BelayOptionName(0); name != ""; name = native.BelayOptionName(len(options)) {
		text := func(what int) string { return native.BelayOptionText(name, what) }
		options = append(options, OptionInfo{
			Name:     name,
			About:    text(native.OptionWhatAbout),
			Unit:     text(native.OptionWhatUnit),
			Default:  text(native.OptionWhatDefault),
			Range:    text(native.OptionWhatRange),
			Variable: text(native.OptionWhatVariable),
			Secret:   text(native.OptionWhatSecret) != "",
		})
	}
	return options
}

// newNative creates the library's client. It connects in the background.
func (c *config) newNative() (uintptr, error) {
	options := native.BelayOptionsNew()
	defer native.BelayOptionsFree(options)
	for _, option := range c.values {
		if strings.ContainsRune(option.name+option.text, 0) {
			return 0, &Error{Status: ErrInvalidArgument, Message: "option " + option.name + " contains NUL"}
		}
		if status := native.BelayOptionsSet(options, option.name, option.text); status != 0 {
			message := native.BelayOptionsError(options)
			if option.typed {
				message = inGo(message)
			}
			return 0, &Error{Status: Status(status), Message: message}
		}
	}
	handle := native.BelayClientNew(options)
	if handle == 0 {
		return 0, &Error{Status: ErrInvalidArgument, Message: native.BelayOptionsError(options)}
	}
	return handle, nil
}

const forever time.Duration = math.MinInt64 // a wait without limit

// LockOption sets something of a [Mutex], an [RWMutex] or a [Semaphore].
type LockOption func(*settings)

type settings struct {
	owner int64
	wait  time.Duration
	names []string               // all, the first one too
	set   []func(handle uintptr) // the setters of the library's request
}

// setting calls a setter of the library's request with a value.
func setting[T any](set func(request uintptr, value T) int, value T) LockOption {
	return func(s *settings) { s.set = append(s.set, func(request uintptr) { set(request, value) }) }
}

func naming(add func(request uintptr, name string) int, names []string) LockOption {
	return func(s *settings) {
		before := len(s.names)
		s.names = append(s.names, names...)
		names := s.names[before:] // the caller may change its own
		s.set = append(s.set, func(request uintptr) {
			for _, name := range names {
				add(request, name)
			}
		})
	}
}

// And adds names to a lock: it takes all or none. One hold stands for all. It has one lease and one loss, and a fence for each name.
// Callers that give the names in different orders do not deadlock.
func And(names ...string) LockOption { return naming(native.BelayRequestAddName, names) }

// AndShared adds names as And does, to read-lock them.
func AndShared(names ...string) LockOption { return naming(native.BelayRequestAddSharedName, names) }

// Wait limits the wait for the lock, besides the context: it ends with [ErrTimeout], or with [ErrUnavailable] if the server has not
// answered. Unlike a context's deadline it leaves the server 0.25 s to answer, or four round trips if they take longer. 0 is 1 ms.
func Wait(limit time.Duration) LockOption {
	if limit == 0 {
		limit = time.Millisecond // 0 would be a try
	}
	return func(s *settings) { s.wait = max(limit, forever+1) }
}

// Owner stands for a task of yours, 1..2^53-1, that may lock a name again which it holds: it gets another hold at once. The release of
// its last hold frees the name. Default, and 0: nobody may. Not of a Semaphore.
func Owner(owner int64) LockOption { return func(s *settings) { s.owner = owner } }

// Identity lets callers with the same identity, 1..256 bytes such as an order's id, hold the name together, from any client. Each has
// its own hold, lease and release. All others wait until the last of them has released it. They share a fence. Not of a reader's lock, nor of
// a Semaphore.
func Identity(identity string) LockOption {
	return setting(native.BelayRequestSetIdentity, identity)
}

// Lease sets a fixed lease: the hold lasts for exactly that time unless [Hold.Extend] prolongs it. Default, and 0: the client renews the
// watchdog's lease until the release.
func Lease(lease time.Duration) LockOption {
	return setting(native.BelayRequestSetLeaseMs, milliseconds(lease))
}

// MaxHold sets for how long the client renews a hold. Default: [WithMaxHold].
func MaxHold(limit time.Duration) LockOption {
	return setting(native.BelayRequestSetMaxHoldMs, milliseconds(limit))
}

// LockDelay sets for how long nobody gets the name after a hold of it was lost; default 0. It gives the loser's last writes time to
// arrive. Others who may share a lock with the loser get in beside it all the same. A release or a break frees the name at once.
func LockDelay(delay time.Duration) LockOption {
	return setting(native.BelayRequestSetLockDelayMs, milliseconds(delay))
}

// Confirmed has an acquire end only when the server has answered that this client has the lock: use it if what the lock starts cannot
// be undone at once, such as a process. Default: a lock that another client's release hands over is held as soon as its message comes,
// and a stop of this process right then may lose it. It costs such an acquire one more round trip.
func Confirmed() LockOption { return setting(native.BelayRequestSetConfirmed, 1) }

// milliseconds rounds away from 0: less than one is not none.
func milliseconds(d time.Duration) int64 {
	whole, rest := d.Milliseconds(), d%time.Millisecond
	switch {
	case rest > 0:
		return whole + 1
	case rest < 0:
		return whole - 1
	}
	return whole
}

func decimal(number int64) string { return strconv.FormatInt(number, 10) }
