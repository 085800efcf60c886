// Package belay has distributed locks on Redis and Valkey.
//
// A [Client] talks to one server; any number of goroutines share it. It makes a [Mutex], an [RWMutex], a [Semaphore] or a [Latch] of a
// name. Locking one gives a [Hold], which stands for the lock until you unlock it. A hold has a lease: how long the server keeps the
// lock without hearing from this client. The client renews the lease until the release. A hold also has a fence: a number that is
// greater than the fence of every earlier holder of the name.
//
//	client, err := belay.Open("redis://localhost:6379")
//	defer client.Close()
//	hold, err := client.Mutex("orders:42").Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock()
//	err = charge(hold.Context(ctx), hold.Fence())
//
// If the client cannot confirm a hold, it declares the hold lost before or when its lease ends. It needs no network for that. Then the
// contexts of [Hold.Context] end, and the first Unlock returns [ErrLost].
//
// Contexts limit and cancel every wait: without a deadline a wait for a lock has no limit, also through outages. A try and other calls
// try to reach the server for [WithRequestTimeout] at most. A change that was sent, other than an acquire, is not undone when its context
// ends: the call still returns how it ended, within the request timeout.
//
// A failed call returns an [*Error]; errors.Is finds its [Status], and context.Canceled or context.DeadlineExceeded if the context ended
// the call.
//
// Only Open and the methods of a [Client] make usable values. On a nil or zero Client, and on what such a one or a zero value would lock,
// calls return [ErrInvalidArgument], as they do for a nil context. On a nil or zero Hold they return [ErrUnknownHold]; those of its methods
// that return no error panic, and so do other methods of nil pointers.
//
// Names are bytes: 1..1024, any of them. The package needs libbelay, pkg-config and cgo, and runs on 64-bit systems.
package belay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"belay.invalid/belay/internal/native"
)

// Client talks to one server. Any goroutine may use it at any time.
type Client struct {
	inside  sync.RWMutex // held by calls inside the library: Close frees it behind them
	handle  uintptr      // the library's client; 0 once it is freed
	id      string
	calls   calls
	holds   holds
	logger  *slog.Logger
	logs    serial
	dropped int64         // log lines that were not passed on; the pump's own
	ended   chan struct{} // closed when the pump is
	closing sync.Once
}

// Open creates a client. It connects in the background, and reconnects whenever the connection breaks. The url is
// redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path, with options of the library as parameters:
// redis://host/0?watchdog_lease_ms=10000. rediss:// is redis:// with TLS. Empty: the environment variable BELAY_URL, else
// redis://localhost:6379. A client lives until Close, also if nobody refers to it any more; a nil Option is ignored.
func Open(url string, options ...Option) (*Client, error) {
	config := config{logger: slog.Default()}
	With("log_events", "warning")(&config)
	if url != "" {
		With("url", url)(&config)
	}
	for _, option := range options {
		if option != nil {
			option(&config)
		}
	}
	handle, err := config.newNative()
	if err != nil {
		return nil, err
	}
	c := &Client{
		handle: handle,
		id:     native.BelayClientId(handle),
		calls:  calls{pending: map[int64]chan event{}},
		logger: config.logger,
		ended:  make(chan struct{}),
	}
	if err := c.startPump(); err != nil {
		native.BelayClientFree(handle)
		return nil, err
	}
	return c, nil
}

// Close ends all waits with [ErrClosed], makes every hold lost, and releases the holds, for 2 seconds at most. Later calls return
// [ErrClosed]. It returns nil, unless Open has not made the client.
func (c *Client) Close() error {
	if !c.opened() {
		return c.refusal()
	}
	c.closing.Do(func() {
		native.BelayClientShutdown(c.handle)
		<-c.ended
		c.inside.Lock()
		defer c.inside.Unlock()
		native.BelayClientFree(c.handle)
		c.handle = 0
	})
	return nil
}

// ID is the id of this client, which other clients' Inspect shows.
func (c *Client) ID() string { return c.id }

// Ping asks the server for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.ask(ctx, native.SubmitPing())
	return err
}

// Member is a holder of a name, or a waiter for it.
type Member struct {
	Client       string        // the id of its client
	Label        string        // of its client
	Host         string        // on which it runs
	PID          int           // of its process
	Since        time.Duration // for how long it has held or waited
	Lease        time.Duration // what is left of a holder's lease
	Fence        int64         // a holder's fence; its client may have a later one by now
	Holds        int64         // the holder's holds in its client, as of its last renewal
	LocalWaiters int64         // the waiters in the holder's client, as of its last renewal
	Permits      int64         // of a semaphore
	Shared       bool          // a reader of a lock
}

// Inspection says who holds a name and who waits for it.
type Inspection struct {
	Primitive  Primitive
	Holders    []Member
	Waiters    []Member // in order
	Total      int64    // how many members there are; more than are listed if there are very many
	Limit      int64    // of a semaphore
	Available  int64    // of a semaphore: how many permits are free
	Generation int64    // of a latch
	Count      int64    // of a latch: how many are to go
}

// Inspect asks who holds a name and who waits for it.
func (c *Client) Inspect(ctx context.Context, name string) (Inspection, error) {
	e, err := c.ask(ctx, native.SubmitInspect(name))
	defer e.free()
	found := Inspection{
		Primitive:  Primitive(e[native.FieldPrimitive]),
		Total:      e[native.FieldTotal],
		Limit:      e[native.FieldLimit],
		Available:  e[native.FieldAvailable],
		Generation: e[native.FieldGeneration],
		Count:      e[native.FieldCount],
	}
	for i := 0; i < e.members(); i++ {
		if e.number(i, native.MemberRole) == native.RoleHolder {
			found.Holders = append(found.Holders, e.member(i))
		} else {
			found.Waiters = append(found.Waiters, e.member(i))
		}
	}
	return found, err
}

// Break takes a name from its holder by force and gives it to the first waiter. With a fence it does so only if the holder has this
// fence; 0: from any holder. It returns those who lost the lock: none if nobody held it or the fence differs. A latch whose generation
// is fence ends: its waiters get [ErrNotFound].
func (c *Client) Break(ctx context.Context, name string, fence int64) ([]Member, error) {
	e, err := c.ask(ctx, native.SubmitBreak(name, fence))
	defer e.free()
	var losers []Member
	for i := 0; i < e.members(); i++ {
		losers = append(losers, e.member(i))
	}
	return losers, err
}

// List finds names in use that match a glob pattern (*, ?, [a-z], \ escapes), limit of them at most. It also returns how many there
// are: total.
func (c *Client) List(ctx context.Context, pattern string, limit int) (names []string, total int64, err error) {
	e, err := c.ask(ctx, native.SubmitList(pattern, int64(limit)))
	defer e.free()
	for i := 0; i < e.members(); i++ {
		names = append(names, e.text(i, native.MemberName))
	}
	return names, e[native.FieldTotal], err
}

// FencedWrite performs one Redis command on a key of yours, unless a newer fence has written this key. So a holder that lost its lock
// without knowing it overwrites nothing of a later holder. Every writer of the key must write this way. The words are the command and
// its arguments after the key: FencedWrite(ctx, "order:42", hold.Fence(), "SET", "paid", "PX", "60000"). The command must write its
// first argument and no other key. The server's reply comes back: the bytes of a string, the digits of an integer, else "".
//
// [ErrStaleFence]: nothing was written; Error.Fence is the newest. [ErrUnavailable] with Error.InDoubt: the write may have taken place.
func (c *Client) FencedWrite(ctx context.Context, key string, fence int64, words ...string) (string, error) {
	command := native.BelayWordsNew()
	defer native.BelayWordsFree(command)
	for _, word := range words {
		native.BelayWordsAdd(command, word)
	}
	e, err := c.ask(ctx, native.SubmitFencedWriteWords(key, fence, command))
	if err != nil {
		return "", err
	}
	defer e.free()
	return native.BelayEventText(e.object()), nil
}

func (e *event) members() int { return int(e[native.FieldMembers]) }

func (e *event) member(i int) Member {
	return Member{
		Client:       e.text(i, native.MemberClient),
		Label:        e.text(i, native.MemberLabel),
		Host:         e.text(i, native.MemberHost),
		PID:          int(e.number(i, native.MemberPid)),
		Since:        e.duration(i, native.MemberSinceMs),
		Lease:        e.duration(i, native.MemberLeaseMs),
		Fence:        e.number(i, native.MemberFence),
		Holds:        e.number(i, native.MemberHolds),
		LocalWaiters: e.number(i, native.MemberLocalWaiters),
		Permits:      e.number(i, native.MemberPermits),
		Shared:       e.number(i, native.MemberShared) != 0,
	}
}

const maxLogs = 1000 // lines that wait for a slow logger; further ones are dropped and counted

var slogLevels = map[int64]slog.Level{
	native.LogLevelError:   slog.LevelError,
	native.LogLevelWarning: slog.LevelWarn,
	native.LogLevelInfo:    slog.LevelInfo,
	native.LogLevelDebug:   slog.LevelDebug,
}

// log passes a line on. A logger may block, which must not stop the pump.
func (c *Client) log(e *event) {
	c.dropped += e[native.FieldDropped]
	if c.logs.size() >= maxLogs {
		c.dropped++
		return
	}
	record := slog.NewRecord(time.UnixMilli(e[native.FieldTimeMs]), slogLevels[e[native.FieldLevel]], e.message(), 0)
	record.AddAttrs(slog.String("client", c.id))
	if c.dropped > 0 {
		record.AddAttrs(slog.Int64("dropped", c.dropped))
		c.dropped = 0
	}
	c.logs.run(func() { c.logger.Handler().Handle(context.Background(), record) }) //nolint:errcheck // nobody to tell
}
