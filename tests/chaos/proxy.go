package main

import (
	"context"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

const proxyLimit = 3 * time.Second

// A Proxy stands between one worker and the server, always at the same address. Used by one goroutine at a time.
type Proxy struct {
	proxy *toxiproxy.Proxy
}

var proxies = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())

func startProxy(listen, upstream string) (*Proxy, error) {
	proxy := &Proxy{toxiproxy.NewProxy(proxies, "proxy", listen, upstream)}
	return proxy, proxy.proxy.Start()
}

func (proxy *Proxy) address() string { return proxy.proxy.Listen }

// try does something to the proxy. Toxiproxy can block for ever where a toxic still has bytes for a connection that is gone: then
// another one takes its place.
func (proxy *Proxy) try(change func(*toxiproxy.Proxy)) {
	done := make(chan struct{})
	current := proxy.proxy
	go func() {
		change(current)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(proxyLimit):
		proxy.replace()
	}
}

func (proxy *Proxy) replace() {
	old := proxy.proxy
	go old.Stop() // closes its listener at once, whatever else it waits for
	for deadline := time.Now().Add(startLimit); ; time.Sleep(5 * time.Millisecond) {
		proxy.proxy = toxiproxy.NewProxy(proxies, "proxy", old.Listen, old.Upstream)
		if err := proxy.proxy.Start(); err == nil {
			return
		} else if time.Now().After(deadline) {
			panic("no proxy at " + old.Listen + ": " + err.Error())
		}
	}
}

// cut closes all connections and refuses new ones for a while.
func (proxy *Proxy) cut(pause time.Duration) {
	proxy.part()
	time.Sleep(pause)
	proxy.join()
}

func (proxy *Proxy) part() { proxy.try(func(current *toxiproxy.Proxy) { current.Stop() }) }

func (proxy *Proxy) join() {
	proxy.try(func(current *toxiproxy.Proxy) {
		if err := current.Start(); err != nil && err != toxiproxy.ErrProxyAlreadyStarted {
			time.Sleep(2 * proxyLimit) // its port is taken for the moment: replace it
		}
	})
}

// poison keeps toxics, in Toxiproxy's JSON without their names, for a while.
func (proxy *Proxy) poison(pause time.Duration, toxics ...string) {
	proxy.try(func(current *toxiproxy.Proxy) {
		for _, toxic := range toxics {
			if _, err := current.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
				panic(toxic + ": " + err.Error())
			}
		}
	})
	time.Sleep(pause)
	proxy.try(func(current *toxiproxy.Proxy) { current.Toxics.ResetToxics(context.Background()) })
}

func (proxy *Proxy) stop() {
	current := proxy.proxy
	go current.Stop()
}
