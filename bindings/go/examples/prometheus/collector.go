// Package prometheus shows how to hand the metrics of a Belay client to Prometheus: register a Collector.
package prometheus

import (
	"belay.invalid/belay"
	"github.com/prometheus/client_golang/prometheus"
)

// Collector reads the client's metrics whenever Prometheus asks. It costs no round trip.
type Collector struct{ Client *belay.Client }

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("belay_"+name, help, nil, nil)
}

var (
	acquires = prometheus.NewDesc("belay_acquires_total", "Acquires that have ended.", []string{"outcome"}, nil)
	lost     = desc("lost_total", "Holds that were lost.")
	holds    = desc("holds", "Holds now.")
	pendings = desc("pendings", "Calls that wait now.")
	wait     = desc("wait_seconds", "For how long grants waited.")
	hold     = desc("hold_seconds", "For how long holds lasted.")
	answer   = desc("round_trip_seconds", "How long the server took to answer.")
)

// Describe implements prometheus.Collector.
func (c Collector) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, descs) }

// Collect implements prometheus.Collector.
func (c Collector) Collect(metrics chan<- prometheus.Metric) {
	m, err := c.Client.Metrics()
	if err != nil {
		return // the client is closed
	}
	count := func(desc *prometheus.Desc, kind prometheus.ValueType, value int64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, kind, float64(value), labels...)
	}
	for outcome, value := range map[string]int64{
		"granted": m.Grants, "busy": m.Busy, "timeout": m.Timeouts, "cancelled": m.Cancelled, "failed": m.Failures,
	} {
		count(acquires, prometheus.CounterValue, value, outcome)
	}
	count(lost, prometheus.CounterValue, m.Lost)
	count(holds, prometheus.GaugeValue, m.Holds)
	count(pendings, prometheus.GaugeValue, m.Pendings)
	for desc, histogram := range map[*prometheus.Desc]belay.Histogram{wait: m.Wait, hold: m.Hold, answer: m.RoundTrip} {
		buckets := map[float64]uint64{}
		for _, bucket := range histogram.Buckets {
			buckets[bucket.AtMost.Seconds()] = uint64(bucket.Count)
		}
		metrics <- prometheus.MustNewConstHistogram(desc, uint64(histogram.Count), histogram.Sum.Seconds(), buckets)
	}
}
