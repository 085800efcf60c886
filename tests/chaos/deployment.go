package main

import "math/rand"

const allNames = "abcsl" // the locks', the semaphore's and the latch's

// A Deployment is what the workers take their locks on. Used by one goroutine at a time.
type Deployment interface {
	endpoints() []*Server        // those that a worker has proxies to
	url(proxies []*Proxy) string // by way of these, one for each endpoint
	master(random *rand.Rand) *Server
	namesAt(master *Server) string // their letters
	noticeFailover(run *Run)       // tells of those that nobody asked for
	end()
}

// A Single is one server.
type Single struct{ server *Server }

func (single *Single) endpoints() []*Server        { return []*Server{single.server} }
func (single *Single) url(proxies []*Proxy) string { return "redis://" + proxies[0].address() }
func (single *Single) master(*rand.Rand) *Server   { return single.server }
func (single *Single) namesAt(*Server) string      { return allNames }
func (single *Single) noticeFailover(*Run)         {}
func (single *Single) end()                        { single.server.end() }
