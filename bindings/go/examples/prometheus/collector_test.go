package prometheus

import (
	"context"
	"strings"
	"testing"

	"belay.invalid/belay"
	"github.com/prometheus/client_golang/prometheus"
)

// It needs no server: a try that cannot reach one is an acquire that failed.
func TestCollectorTellsWhatHappened(t *testing.T) {
	client, err := belay.Open("unix:///nonexistent?request_timeout_ms=50")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, ok, err := client.Mutex("a").TryLock(context.Background()); ok || err == nil {
		t.Fatal("a lock without a server")
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collector{client})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		text.WriteString(family.String())
	}
	for _, want := range []string{`value:"failed"} counter:{value:1}`, `name:"belay_holds"`, `name:"belay_wait_seconds"`} {
		if !strings.Contains(strings.ReplaceAll(text.String(), "  ", " "), want) {
			t.Errorf("no %s in %s", want, text.String())
		}
	}
}
