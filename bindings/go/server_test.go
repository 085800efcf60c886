package belay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// server is what tests/support/launch_server.py starts, on a unix socket: BELAY_TEST_SERVER says which program.
type server struct {
	launcher *exec.Cmd
	commands io.WriteCloser
	answers  io.Reader
	port     int
	socket   string
}

func startServer(options ...string) (*server, error) {
	s := &server{launcher: exec.Command("../../tests/support/launch_server.py", options...)}
	s.launcher.Stderr = os.Stderr
	s.commands, _ = s.launcher.StdinPipe()
	s.answers, _ = s.launcher.StdoutPipe()
	if err := s.launcher.Start(); err != nil {
		return nil, err
	}
	return s, s.hear()
}

func (s *server) hear() error {
	_, err := fmt.Fscanf(s.answers, "%d %d %s\n", new(int), &s.port, &s.socket)
	return err
}

func (s *server) tell(t testing.TB, command string) {
	fmt.Fprintln(s.commands, command)
	must(t, s.hear())
}

func (s *server) url() string { return "unix://" + s.socket }

func (s *server) stop() {
	s.commands.Close()
	s.launcher.Wait()
}

var shared *server

// It starts before the examples open their client.
func init() {
	if os.Getenv("BELAY_TEST_CHILD") != "" {
		return // it uses its parent's
	}
	var err error
	if shared, err = startServer(); err != nil {
		fmt.Fprintln(os.Stderr, "no server:", err)
		os.Exit(1)
	}
	os.Setenv("BELAY_URL", shared.url())
}

func TestMain(m *testing.M) {
	code := m.Run()
	shared.stop()
	os.Exit(code)
}

// ownServer is a server that the test may stop or kill.
func ownServer(t testing.TB, options ...string) *server {
	s, err := startServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// ownServerBeside is one of a test that mostly waits, and runs beside others that do.
func ownServerBeside(t *testing.T) *server {
	t.Parallel()
	return ownServer(t)
}

func open(t testing.TB, options ...Option) *Client { return openAt(t, "", options...) }

func openAt(t testing.TB, url string, options ...Option) *Client {
	t.Helper()
	client, err := Open(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// within is a context that ends the test's wait, should something hang.
func within(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

const patience = 30 * time.Second // far more than anything here takes

func mustLock(t testing.TB, m *Mutex) *Hold {
	t.Helper()
	hold, err := m.Lock(within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	return hold
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err error, wanted ...error) {
	t.Helper()
	for _, want := range wanted {
		if !errors.Is(err, want) {
			t.Fatalf("got error %v, want %v", err, want)
		}
	}
}

// eventually waits for what another goroutine or process brings about.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// name is one that no other test uses, nor an earlier run of this one.
func name(t testing.TB) string { return fmt.Sprintf("%s:%d", t.Name(), time.Now().UnixNano()) }
