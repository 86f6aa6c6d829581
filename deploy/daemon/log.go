package daemon

import (
	"context"
	"log/slog"

	"github.com/eideticker/eideticker/deploy/api"
)

// teller is a log handler that also sends its lines to clients. Debug lines stay in the log.
type teller struct {
	slog.Handler
	events *Events
	attrs  []slog.Attr
}

// Enabled reports the levels for clients, whatever the log itself takes.
func (t *teller) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || t.Handler.Enabled(ctx, l)
}

func (t *teller) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		line := &api.Log{Level: level(r.Level), Message: bounded(r.Message), Fields: map[string]string{}}
		for _, a := range t.attrs {
			line.Fields[a.Key] = bounded(a.Value.String())
		}
		r.Attrs(func(a slog.Attr) bool {
			line.Fields[a.Key] = bounded(a.Value.String())
			return true
		})
		t.events.add(api.Event{Kind: "log", Log: line})
	}
	if !t.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

func (t *teller) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &teller{t.Handler.WithAttrs(attrs), t.events, append(t.attrs[:len(t.attrs):len(t.attrs)], attrs...)}
}

func (t *teller) WithGroup(name string) slog.Handler {
	return &teller{t.Handler.WithGroup(name), t.events, t.attrs}
}

func level(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warn"
	}
	return "info"
}

// maxLogText bounds the text of a line for clients.
const maxLogText = 2000

func bounded(s string) string {
	if len(s) > maxLogText {
		return s[:maxLogText] + "…"
	}
	return s
}
