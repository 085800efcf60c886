package main

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Wires carry what the nodes of a cluster say to each other, each way to a node through an address of its own. Every node speaks from an
// address of its own, too, so that a node can be parted from the others in both directions.
type Wires struct {
	mutex  sync.Mutex
	parted map[int]bool
	open   map[*wire]bool
}

type wire struct {
	from, to int
	ends     [2]net.Conn
}

const firstSource = 10 // in 127.0.0.0/8

// sourceOf is what a node speaks from.
func sourceOf(node int) string { return fmt.Sprintf("127.0.0.%d", firstSource+node) }

func nodeAt(address net.Addr) int { return int(address.(*net.TCPAddr).IP.To4()[3]) - firstSource }

func newWires() *Wires { return &Wires{parted: map[int]bool{}, open: map[*wire]bool{}} }

// to carries what comes to a listener to a port of a node, until the listener is closed.
func (wires *Wires) to(node int, listener net.Listener, port int) {
	for {
		incoming, err := listener.Accept()
		if err != nil {
			return
		}
		go wires.carry(&wire{nodeAt(incoming.RemoteAddr()), node, [2]net.Conn{incoming}}, port)
	}
}

func (wires *Wires) carry(wire *wire, port int) {
	defer wire.ends[0].Close()
	outgoing, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return
	}
	defer outgoing.Close()
	wire.ends[1] = outgoing
	if !wires.add(wire) {
		return
	}
	defer wires.remove(wire)
	done := make(chan struct{}, 2)
	for i := range wire.ends {
		go func(i int) {
			_, _ = io.Copy(wire.ends[i], wire.ends[1-i])
			done <- struct{}{}
		}(i)
	}
	<-done
}

func (wires *Wires) add(wire *wire) bool {
	wires.mutex.Lock()
	defer wires.mutex.Unlock()
	if wires.parted[wire.from] || wires.parted[wire.to] {
		return false
	}
	wires.open[wire] = true
	return true
}

func (wires *Wires) remove(wire *wire) {
	wires.mutex.Lock()
	defer wires.mutex.Unlock()
	delete(wires.open, wire)
}

func (wires *Wires) part(node int) {
	wires.mutex.Lock()
	defer wires.mutex.Unlock()
	wires.parted[node] = true
	for wire := range wires.open {
		if wire.from == node || wire.to == node {
			wire.ends[0].Close()
			wire.ends[1].Close()
		}
	}
}

func (wires *Wires) join(node int) {
	wires.mutex.Lock()
	defer wires.mutex.Unlock()
	delete(wires.parted, node)
}
