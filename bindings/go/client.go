package belay

import (
	"context"
	"errors"
	"fmt"
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
	logs    chan *slog.Record
	dropped int64         // lines of the log that were not passed on; the pump's own
	ended   chan struct{} // closed when the pump is
	closing sync.Once
}

// Open creates a client. It connects in the background, and reconnects whenever the connection breaks. The url is
// redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path, with options of the library as parameters:
// redis://host/0?watchdog_lease_ms=10000. rediss:// is redis:// with TLS. Empty: the environment variable BELAY_URL, else
// redis://localhost:6379. A master and its replicas are several hosts in any order: redis://a,b:6380,c. The master that
// sentinels know as NAME is redis-sentinel://a,b,c/NAME; a cluster is redis-cluster://a,b,c. A client lives until Close, also if nobody refers
// to it any more; a nil Option is ignored.
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
		logs:   make(chan *slog.Record, maxLogs),
		ended:  make(chan struct{}),
	}
	if err := c.startPump(); err != nil {
		native.BelayClientFree(handle)
		return nil, err
	}
	return c, nil
}

// Close ends all waits for locks and answers with [ErrClosed], makes every hold lost, and releases the holds, for 2 seconds at most. An
// Unlock that waits gets its answer, or [ErrUnavailable] then. Later calls return [ErrClosed]. It returns nil, unless Open has not made the client.
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

// Version is the version of the library, "major.minor.patch".
func Version() string { return native.BelayVersion() }

// ID is the id of this client, which other clients' Inspect shows.
func (c *Client) ID() string { return c.id }

// Ping asks the server, or each master of a cluster that this client uses, for a sign of life.
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
	Holds        int64         // of a holder: its client's holds, as of its last renewal or 10 s before
	LocalWaiters int64         // of a holder: the waiters in its client, as of the same
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
	Server     string   // that has the name: host:port, or the path of its socket
	Slot       int      // of the name in its cluster; -1: the server is in no cluster
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
		Slot:       int(e[native.FieldSlot]),
	}
	if err == nil {
		found.Server = native.BelayEventText(e.object())
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
	return all(&e, e.member), err
}

// List finds names in use that match a glob pattern (*, ?, [a-z], \ escapes), limit of them at most. It also returns how many there
// are: total.
func (c *Client) List(ctx context.Context, pattern string, limit int) (names []string, total int64, err error) {
	e, err := c.ask(ctx, native.SubmitList(pattern, int64(limit)))
	defer e.free()
	return all(&e, e.name), e[native.FieldTotal], err
}

// Names iterates over all names in use that match a pattern, as [Client.List] does; from Go 1.23 on by range. It asks when the loop begins,
// and yields 1000000 names at most; a context that ends later does not end the loop. An error comes alone.
func (c *Client) Names(ctx context.Context, pattern string) func(yield func(name string, err error) bool) {
	return func(yield func(string, error) bool) {
		names, _, err := c.List(ctx, pattern, maxNames)
		if err != nil {
			yield("", err)
		}
		for i := 0; i < len(names) && yield(names[i], nil); i++ {
		}
	}
}

const maxNames = 1000000 // the most that the library lists

// OwnerHolds says how many holds of a lock's name an [Owner] has in this client, other than lost ones. It is a local read.
func (c *Client) OwnerHolds(owner int64, name string) (int64, error) {
	count, err := c.local(func(handle uintptr) int64 { return native.BelayOwnerHolds(handle, owner, name) })
	if errors.Is(err, ErrInvalidArgument) && c.opened() {
		return 0, &Error{Status: ErrInvalidArgument, Message: fmt.Sprintf("owner %d of a name of %d bytes: owners are 0..2^53-1, names have 1..1024 bytes", owner, len(name))}
	}
	return count, err
}

// FencedWrite performs one Redis command on a key of yours, unless a newer fence has written this key. So a holder that lost its lock
// without knowing it overwrites nothing of a later holder. Every writer of the key must write this way. The words are the command and
// its arguments after the key: FencedWrite(ctx, "order:42", hold.Fence(), "SET", "paid", "PX", "60000"). The command must write its
// first argument and no other key. The server's reply comes back: the bytes of a string, the digits of an integer, else "".
//
// The newest fence of a key stands in a key of Belay's beside it (belay:g:...), which does not expire: delete it when nobody can hold an older
// fence any more. FencedWrite does not read: use your own client of Redis for that.
//
// [ErrStaleFence]: nothing was written; Error.Fence is the newest. [ErrUnavailable] with Error.InDoubt: the write may have taken place.
// Repeat a command that may run twice, such as SET. After any other one wait so long, and read the key.
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

// all lists what one returns of each member.
func all[T any](e *event, one func(member int) T) (list []T) {
	for i := 0; i < e.members(); i++ {
		list = append(list, one(i))
	}
	return list
}

func (e *event) name(i int) string { return e.text(i, native.MemberName) }

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
	record := slog.NewRecord(time.UnixMilli(e[native.FieldTimeMs]), slogLevels[e[native.FieldLevel]], e.message(), 0)
	record.AddAttrs(slog.String("client", c.id))
	if c.dropped > 0 {
		record.AddAttrs(slog.Int64("dropped", c.dropped))
	}
	select {
	case c.logs <- &record:
		c.dropped = 0
	default:
		c.dropped++
	}
}

func (c *Client) passLogs() {
	for record := range c.logs {
		c.logger.Handler().Handle(context.Background(), *record) //nolint:errcheck // nobody to tell
	}
}
