package belay

import (
	"reflect"
	"regexp"
	"strings"
	"time"

	"belay.invalid/belay/internal/native"
)

// Metrics says what a client has done and has, all since it began. The library has the same names: handoffs_local.
type Metrics struct {
	Acquires          int64 // those that have ended, also waits for a latch; of them:
	Grants            int64
	Busy              int64
	Timeouts          int64
	Cancelled         int64
	Failures          int64
	Releases          int64 // of holds that were not lost
	Lost              int64 // holds
	Renewals          int64 // how often a name was renewed
	HandoffsLocal     int64 // grants from one owner of this client to the next
	HandoffsByMessage int64 // grants that another client's release handed to this client
	Connections       int64 // how often it has connected
	Commands          int64 // sent
	Messages          int64 // received
	MessagesDropped   int64 // about nothing that this client asked for

	Wait      Histogram // for how long grants waited
	Hold      Histogram // for how long holds lasted
	RoundTrip Histogram // how long the server took to answer

	Pendings          int64 // pending calls now
	Holds             int64 // now, also lost ones
	Names             int64 // now, also abandoned ones until their lease ends
	UndeliveredEvents int64 // now

	ProcessClients  int64 // of the whole process: that are not freed
	ProcessRequests int64
	ProcessEvents   int64

	All map[string]int64 // every number by its name, also those of later versions of the library
}

// Histogram says how long things took.
type Histogram struct {
	Count   int64
	Sum     time.Duration
	Buckets []Bucket // in rising order; the last is 36 minutes, and Count also has those that took longer
}

// Bucket says how many took so long at most: as those of Prometheus, each has those of the buckets below it, too.
type Bucket struct {
	AtMost time.Duration
	Count  int64
}

// Metrics reads local memory only, without the network. It returns [ErrClosed] after Close.
func (c *Client) Metrics() (Metrics, error) {
	all := map[string]int64{}
	if !c.with(func(handle uintptr) {
		e := event{native.Fields: int64(native.MetricsEvent(handle))}
		defer e.free()
		for i := 0; e.number(i, native.MemberRole) == native.RoleMetric; i++ {
			all[e.text(i, native.MemberName)] = e.number(i, native.MemberValue)
		}
	}) {
		return Metrics{}, c.refusal()
	}
	metrics := Metrics{All: all}
	for i, value := 0, reflect.ValueOf(&metrics).Elem(); i < value.NumField(); i++ {
		name := strings.ToLower(wordEnd.ReplaceAllString(value.Type().Field(i).Name, "${1}_${2}"))
		switch field := value.Field(i).Addr().Interface().(type) {
		case *int64:
			*field = all[name]
		case *Histogram:
			*field = histogram(all, name+"_us")
		}
	}
	return metrics, nil
}

var wordEnd = regexp.MustCompile("([a-z])([A-Z])")

func histogram(all map[string]int64, name string) Histogram {
	h := Histogram{Count: all[name+"_count"], Sum: time.Duration(all[name+"_sum"]) * time.Microsecond}
	for limit := int64(1); ; limit *= 2 {
		count, found := all[name+"_le_"+decimal(limit)]
		if !found {
			return h
		}
		h.Buckets = append(h.Buckets, Bucket{AtMost: time.Duration(limit) * time.Microsecond, Count: count})
	}
}
