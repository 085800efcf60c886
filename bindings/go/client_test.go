package belay

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"belay.invalid/belay/internal/native"
)

// If a status of the library had no name here, or another one, users would see UNKNOWN or something wrong.
func TestEveryStatusIsMapped(t *testing.T) {
	header, err := os.ReadFile("../../include/belay/belay.h")
	must(t, err)
	text := string(header)
	text = text[strings.Index(text, "enum belay_status {"):]
	found := regexp.MustCompile(`BELAY_([A-Z_]+) = (\d+)`).FindAllStringSubmatch(text[:strings.Index(text, "};")], -1)
	if len(found) < 25 {
		t.Fatalf("only %d statuses in belay.h", len(found))
	}
	for _, match := range found[1:] { // the first is OK
		number, _ := strconv.Atoi(match[2])
		status := Status(number)
		if status.String() != match[1] || native.BelayStatusName(int64(number)) != match[1] {
			t.Errorf("status %d is %s here, %s in belay.h", number, status, match[1])
		}
		wantError(t, &Error{Status: status}, status)
		if status.Class() == ClassOK {
			t.Errorf("%s has no class", status)
		}
	}
	if ErrBusy.Class() != ClassRetry || ErrAuthFailed.Class() != ClassRefused || ErrUnknownHold.Class() != ClassMisuse || ErrLost.Class() != ClassGone {
		t.Error("wrong classes")
	}
	if unknown := Status(999); unknown.Class() != ClassRefused || unknown.String() != "UNKNOWN" {
		t.Errorf("an unknown status: %v, %v", unknown, unknown.Class())
	}
}

func TestVersionIsThatOfTheLibrary(t *testing.T) {
	version, err := exec.Command("pkg-config", "--modversion", "belay").Output()
	must(t, err)
	if Version() != strings.TrimSpace(string(version)) {
		t.Errorf("version %q, not %q", Version(), version)
	}
}

func TestErrorsOfOpen(t *testing.T) {
	for url, want := range map[string]Status{
		"valkeys://localhost":            ErrUnsupportedURL,
		"redis://localhost:x":            ErrInvalidArgument,
		"redis://localhost?no_such=1":    ErrInvalidArgument,
		"redis://local\x00host":          ErrInvalidArgument,
		"redis://localhost?max_hold_ms=": ErrInvalidArgument,
	} {
		_, err := Open(url)
		wantError(t, err, want)
		if err.(*Error).Message == "" {
			t.Errorf("%q: no message", url)
		}
	}
	for what, option := range map[string]Option{
		"prefix":   WithPrefix(""),
		"lease":    WithWatchdogLease(time.Millisecond),
		"timeout":  WithRequestTimeout(time.Microsecond),
		"max hold": WithMaxHold(-time.Second),
		"pending":  WithMaxPending(0),
		"file":     WithPasswordFile("/nonexistent"),
		"unknown":  With("no_such", "1"),
	} {
		if client, err := Open("", option); err == nil {
			client.Close()
			t.Errorf("%s: no error", what)
		} else {
			wantError(t, err, ErrInvalidArgument)
		}
	}
	for what, option := range map[string]Option{
		"ca_file":     WithTLSCAFile("/nonexistent"),
		"ca_dir":      WithTLSCADir("/nonexistent"),
		"cert_file":   WithTLSCertFile("/nonexistent"),
		"min_version": WithTLSMinVersion("1.1"),
	} {
		_, err := Open("rediss://localhost", option)
		wantError(t, err, ErrInvalidArgument)
		if !strings.Contains(err.Error(), "tls_"+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	t.Setenv("BELAY_URL", "redis://localhost:x")
	_, err := Open("")
	wantError(t, err, ErrInvalidArgument)
}

func TestErrorsOfTheServer(t *testing.T) {
	server := ownServer(t, "--requirepass", "secret")
	right := openAt(t, server.url(), WithPassword("secret"))
	must(t, right.Ping(within(t, patience)))
	wrong := openAt(t, server.url(), WithUser("default"), WithPassword("guess"))
	_, err := wrong.Mutex("a").Lock(within(t, patience))
	wantError(t, err, ErrAuthFailed)
	if strings.Contains(err.Error(), "guess") {
		t.Errorf("the password is in %q", err)
	}
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	must(t, openAt(t, server.url(), WithPasswordFile(file)).Ping(within(t, patience)))
	cli(t, server, "-a", "secret", "acl", "setuser", "weak", "on", ">weak", "+@all", "-evalsha", "-eval", "~*", "&*")
	_, err = openAt(t, server.url(), WithUser("weak"), WithPassword("weak")).Mutex("a").Lock(within(t, patience))
	wantError(t, err, ErrNotPermitted)
	cli(t, server, "-a", "secret", "lpush", "belay:r:{b}", "x")
	_, _, err = right.Mutex("b").TryLock(within(t, patience))
	wantError(t, err, ErrWrongType)
}

// A server without TLS is asked for it.
func TestServerWithoutTLSIsUnsupported(t *testing.T) {
	server := ownServerBeside(t)
	_, _, err := openAt(t, fmt.Sprintf("rediss://127.0.0.1:%d", server.port)).Mutex("a").TryLock(within(t, patience))
	wantError(t, err, ErrUnsupportedServer)
}

func cli(t *testing.T, server *server, arguments ...string) {
	t.Helper()
	said, err := exec.Command("redis-cli", append([]string{"-s", server.socket}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

func TestTooManyPending(t *testing.T) {
	client := open(t, WithMaxPending(1))
	mutex := client.Mutex(name(t))
	hold := mustLock(t, mutex)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := mutex.Lock(ctx)
		ended <- err
	}()
	eventually(t, "the lock is waited for", func() bool { return metrics(t, client).Pendings == 1 })
	_, err := mutex.Lock(within(t, patience))
	wantError(t, err, ErrTooManyPending)
	wantError(t, client.Ping(within(t, patience)), ErrTooManyPending)
	must(t, hold.Unlock())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cancel()
}

func TestOptionsAreListed(t *testing.T) {
	options := map[string]OptionInfo{}
	for _, option := range Options() {
		options[option.Name] = option
	}
	lease := options["watchdog_lease_ms"]
	if lease.About == "" || lease.Unit != "ms" || lease.Default != "30000" || lease.Range == "" || lease.Secret {
		t.Errorf("the lease: %+v", lease)
	}
	if !options["password"].Secret || options["url"].Variable != "BELAY_URL" {
		t.Errorf("options: %+v", options)
	}
	client := open(t, With("label", "by name"))
	hold := mustLock(t, client.Mutex(name(t)))
	found, err := client.Inspect(within(t, patience), hold.name)
	must(t, err)
	if found.Holders[0].Label != "by name" {
		t.Errorf("label %q", found.Holders[0].Label)
	}
	must(t, hold.Unlock())
}

func TestPrefixesSeparate(t *testing.T) {
	lock := name(t)
	hold := mustLock(t, open(t, WithPrefix("one:")).Mutex(lock))
	other, ok, err := open(t, WithPrefix("two:")).Mutex(lock).TryLock(within(t, patience))
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	must(t, hold.Unlock())
	must(t, other.Unlock())
}

func TestMetricsHaveEveryNumberOfTheLibrary(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t))
	must(t, mustLock(t, mutex).Unlock())
	m := metrics(t, client)
	if m.Acquires != 1 || m.Grants != 1 || m.Releases != 1 || m.Wait.Count != 1 || m.Hold.Count != 1 || m.RoundTrip.Sum <= 0 || m.Connections != 1 {
		t.Errorf("metrics %+v", m)
	}
	last := m.Wait.Buckets[len(m.Wait.Buckets)-1]
	if len(m.Wait.Buckets) != 32 || last.Count != 1 || last.AtMost != (1<<31)*time.Microsecond {
		t.Errorf("buckets %+v", m.Wait.Buckets)
	}
	fields := map[string]bool{}
	for i, kind := 0, reflect.TypeOf(m); i < kind.NumField(); i++ {
		fields[strings.ToLower(kind.Field(i).Name)] = true
	}
	histogram := regexp.MustCompile(`_us_(count|sum|le_\d+)$`)
	for number := range m.All {
		if field := strings.ReplaceAll(histogram.ReplaceAllString(number, ""), "_", ""); !fields[field] {
			t.Errorf("no field for %s", number)
		}
	}
	if len(m.All) != len(fields)-4+3*(32+2) {
		t.Errorf("%d numbers, %d fields", len(m.All), len(fields))
	}
}

// lockedBuffer is written by a logger and read by the test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestWarningsGoToTheDefaultLogger(t *testing.T) {
	var lines lockedBuffer
	defer log.SetOutput(log.Writer()) // which SetDefault changes
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug})))
	openAt(t, "unix:///nonexistent")
	eventually(t, "a warning", func() bool { return strings.Contains(lines.String(), "level=WARN") })
	if text := lines.String(); !strings.Contains(text, "no such file or directory") || strings.Count(text, "\n") != 1 {
		t.Error(text)
	}
}

func TestLogGoesToSlog(t *testing.T) {
	var log lockedBuffer
	client := open(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	must(t, client.Ping(within(t, patience)))
	eventually(t, "a line", func() bool { return strings.Contains(log.String(), "level=INFO msg=\"connected to ") })
	for level, want := range map[slog.Level]int64{slog.LevelDebug: native.LogLevelDebug, slog.LevelInfo: native.LogLevelInfo,
		slog.LevelWarn: native.LogLevelWarning, slog.LevelError: native.LogLevelError, slog.LevelError + 1: native.LogLevelNone} {
		if got := enabledLevel(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))); got != want {
			t.Errorf("%v: %d", level, got)
		}
	}
}

func TestSlowLoggerStopsNobody(t *testing.T) {
	blocked := make(chan struct{})
	client := open(t, WithLogger(slog.New(slowHandler{slog.NewTextHandler(os.Stderr, nil), blocked})))
	mutex := client.Mutex(name(t))
	for i := 0; i < 20; i++ {
		must(t, mustLock(t, mutex).Unlock())
	}
	close(blocked)
}

type slowHandler struct {
	slog.Handler
	blocked chan struct{}
}

func (slowHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h slowHandler) Handle(context.Context, slog.Record) error {
	<-h.blocked
	return nil
}

func TestClosedClientRefusesCalls(t *testing.T) {
	client := open(t)
	mutex := client.Mutex(name(t))
	hold := mustLock(t, mutex)
	ctx := hold.Context(context.Background())
	must(t, client.Close())
	must(t, client.Close())
	<-ctx.Done()
	wantError(t, context.Cause(ctx), ErrLost)
	if reason := context.Cause(ctx).(*Error).Reason; reason != ReasonClosed {
		t.Errorf("reason %v", reason)
	}
	if hold.State() != Lost || hold.Remaining() != 0 {
		t.Errorf("state %v, remaining %v", hold.State(), hold.Remaining())
	}
	wantError(t, client.Ping(within(t, patience)), ErrClosed)
	wantError(t, hold.Verify(within(t, patience)), ErrClosed)
	_, err := mutex.Lock(within(t, patience))
	wantError(t, err, ErrClosed)
	_, err = client.Metrics()
	wantError(t, err, ErrClosed)
	wantError(t, hold.Unlock(), ErrLost)
	wantError(t, hold.Unlock(), ErrUnknownHold)
	free, ok, err := open(t).Mutex(hold.name).TryLock(within(t, patience))
	if !ok || err != nil {
		t.Fatalf("Close did not release the hold: %v, %v", ok, err)
	}
	must(t, free.Unlock())
}

// A program that ends with its work undone: this test runs it as a process of its own.
func TestProgramEndsWithHoldsAndWaiters(t *testing.T) {
	lock := os.Getenv("BELAY_TEST_CHILD")
	if lock != "" {
		client := open(t)
		mustLock(t, client.Mutex(lock))
		go client.Mutex(lock).Lock(context.Background())
		eventually(t, "a waiter", func() bool { return metrics(t, client).Pendings == 1 })
		os.Exit(7)
	}
	child := exec.CommandContext(within(t, patience), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "BELAY_TEST_CHILD="+name(t))
	if said, _ := child.CombinedOutput(); child.ProcessState.ExitCode() != 7 {
		t.Errorf("the program ended with %v: %s", child.ProcessState, said)
	}
}
