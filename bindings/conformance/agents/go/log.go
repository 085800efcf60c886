package main

import (
	"context"
	"encoding/hex"
	"log/slog"

	"belay.invalid/belay"
)

// logHandler keeps the client's lines for the verb log. It asks for none: the option log_events does.
type logHandler struct {
	slog.Handler
	lines chan string
}

func logTo(lines chan string) belay.Option {
	return belay.WithLogger(slog.New(logHandler{slog.Default().Handler(), lines}))
}

func (logHandler) Enabled(context.Context, slog.Level) bool { return false }

var levels = map[slog.Level]string{slog.LevelError: "error", slog.LevelWarn: "warning", slog.LevelInfo: "info", slog.LevelDebug: "debug"}

func (h logHandler) Handle(_ context.Context, record slog.Record) error {
	h.lines <- "level=" + levels[record.Level] + " message=" + hex.EncodeToString([]byte(record.Message))
	return nil
}
