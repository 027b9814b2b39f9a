package scrub

import (
	"context"
	"log/slog"
)

// Logger returns a logger whose lines have no secrets in their texts and errors: backends write to it what they read.
func (s *Scrubber) Logger(log *slog.Logger) *slog.Logger {
	if s == nil {
		return log
	}
	return slog.New(&scrubbingHandler{log.Handler(), s})
}

// scrubbingHandler removes secrets from the attributes of records. Messages are constants.
type scrubbingHandler struct {
	slog.Handler
	scrubber *Scrubber
}

// Handle implements slog.Handler.
func (h *scrubbingHandler) Handle(ctx context.Context, r slog.Record) error {
	scrubbed := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindString, slog.KindAny:
			a.Value = slog.StringValue(h.scrubber.Text(v.String()))
		}
		scrubbed.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, scrubbed)
}

// WithAttrs implements slog.Handler. The attributes are names of the configuration.
func (h *scrubbingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &scrubbingHandler{h.Handler.WithAttrs(attrs), h.scrubber}
}

// WithGroup implements slog.Handler.
func (h *scrubbingHandler) WithGroup(name string) slog.Handler {
	return &scrubbingHandler{h.Handler.WithGroup(name), h.scrubber}
}
