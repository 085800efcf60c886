package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const startLimit = 30 * time.Second // for a process to come up: beyond it something hangs

// A Server is a Redis or Valkey of our own. Used by one goroutine at a time, but for command.
type Server struct {
	program, directory string
	port               int
	aof                bool
	process            *exec.Cmd
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func startServer(program, directory string, aof bool) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server := &Server{program: program, directory: directory, port: port, aof: aof}
	return server, server.start()
}

func (server *Server) address() string { return fmt.Sprintf("127.0.0.1:%d", server.port) }

// start also starts it again, on the same port, with what its append-only file kept. Every write is synchronised before its reply, so
// that a server that is killed has lost nothing that anybody knows of.
func (server *Server) start() error {
	aof := "no"
	if server.aof {
		aof = "yes"
	}
	server.process = exec.Command(server.program, "--port", strconv.Itoa(server.port), "--bind", "127.0.0.1", "--save", "",
		"--appendonly", aof, "--appendfsync", "always", "--dir", server.directory, "--logfile", filepath.Join(server.directory, "log"),
		"--enable-debug-command", "yes", "--maxmemory-policy", "noeviction")
	server.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if reply, err := server.command("PING"); err == nil && reply == "PONG" {
			return nil
		}
	}
	server.kill()
	return fmt.Errorf("%s did not come up on port %d", server.program, server.port)
}

func (server *Server) signal(signal syscall.Signal) { _ = server.process.Process.Signal(signal) }

func (server *Server) kill() {
	_ = server.process.Process.Kill()
	_ = server.process.Wait()
}

// command asks on a connection of its own. Arrays come as []interface{}, everything else as a string.
func (server *Server) command(words ...string) (interface{}, error) {
	connection, err := net.DialTimeout("tcp", server.address(), time.Second)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(startLimit))
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(connection, request); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(connection))
}

func readReply(reader *bufio.Reader) (interface{}, error) {
	line, err := reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	size, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '-':
		return nil, errors.New(line[1:])
	case '$':
		bytes := make([]byte, size+2)
		if size < 0 {
			return "", nil
		}
		_, err := io.ReadFull(reader, bytes)
		return string(bytes[:size]), err
	case '*':
		var replies []interface{}
		for i := 0; i < size; i++ {
			reply, err := readReply(reader)
			if err != nil {
				return nil, err
			}
			replies = append(replies, reply)
		}
		return replies, nil
	}
	return line[1:], nil
}
