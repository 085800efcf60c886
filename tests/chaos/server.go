package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const startLimit = 30 * time.Second // for a process to come up: beyond it something hangs

// A Server is a Redis or Valkey of our own. Used by one goroutine at a time, but for command.
type Server struct {
	launcher  *exec.Cmd
	commands  io.WriteCloser
	answers   io.Reader
	port      int
	directory string
	aof       bool
}

// startServer: every write is synchronised before its reply, so that a server that is killed has lost nothing that anybody knows of.
func startServer(program string, aof bool, more ...string) (*Server, error) {
	words := []string{program, "--enable-debug-command", "yes", "--maxmemory-policy", "noeviction"}
	if aof {
		words = append(words, "--appendonly", "yes", "--appendfsync", "always")
	}
	server, err := launch(append(words, more...)...)
	if err == nil {
		server.aof = aof
	}
	return server, err
}

func launch(words ...string) (*Server, error) {
	_, here, _, _ := runtime.Caller(0)
	launcher := filepath.Join(filepath.Dir(here), "../support/launch_server.py")
	server := &Server{launcher: exec.Command(launcher, words...)}
	server.launcher.Stderr = os.Stderr
	server.commands, _ = server.launcher.StdinPipe()
	server.answers, _ = server.launcher.StdoutPipe()
	if err := server.launcher.Start(); err != nil {
		return nil, err
	}
	return server, server.hear()
}

func (server *Server) hear() error {
	var socket string
	_, err := fmt.Fscanf(server.answers, "%d %d %s\n", new(int), &server.port, &socket)
	server.directory = filepath.Dir(socket)
	return err
}

func (server *Server) tell(command string) {
	_, _ = fmt.Fprintln(server.commands, command)
	if err := server.hear(); err != nil {
		panic(err)
	}
}

// end: also its directory is removed.
func (server *Server) end() {
	_ = server.commands.Close()
	_ = server.launcher.Wait()
}

func (server *Server) address() string { return fmt.Sprintf("127.0.0.1:%d", server.port) }

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
