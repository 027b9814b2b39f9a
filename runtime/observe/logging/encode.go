package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"hatchel/hcl/jsonscan"
)

// handler encodes lines as the handlers of log/slog do, which need more than twice the time. It leaves
// out attributes that are an empty text. Groups are not supported: nothing here uses them.
type handler struct {
	log   *Log
	attrs []byte // of With, encoded
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.log.level.Level()
}

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	h.log.write(h, &r)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := &handler{h.log, bytes.Clone(h.attrs)}
	for _, a := range attrs {
		with.attrs = h.log.format.appendAttr(with.attrs, a)
	}
	return with
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(string) slog.Handler { return h }

func (h *handler) appendLine(dst []byte, r *slog.Record) []byte {
	f := h.log.format
	if f == JSON {
		dst = append(h.log.appendTime(append(dst, `{"time":"`...), r.Time), `","level":"`...)
		dst = append(append(dst, r.Level.String()...), `","msg":`...)
	} else {
		dst = append(h.log.appendTime(append(dst, "time="...), r.Time), " level="...)
		dst = append(append(dst, r.Level.String()...), " msg="...)
	}
	dst = append(f.appendString(dst, r.Message), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		dst = f.appendAttr(dst, a)
		return true
	})
	if f == JSON {
		dst = append(dst, '}')
	}
	return append(dst, '\n')
}

// appendTime appends a time of day to the millisecond. The part that changes once a second, which
// takes most of the work, is kept from line to line.
func (l *Log) appendTime(dst []byte, t time.Time) []byte {
	if second := t.Unix(); second != l.second || l.timePrefix == nil {
		l.second, l.timePrefix = second, t.AppendFormat(l.timePrefix[:0], "2006-01-02T15:04:05.")
		l.timeZone = t.AppendFormat(l.timeZone[:0], "Z07:00")
	}
	ms := t.Nanosecond() / 1e6
	dst = append(append(dst, l.timePrefix...), byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	return append(dst, l.timeZone...)
}

func (f Format) appendAttr(dst []byte, a slog.Attr) []byte {
	v := a.Value
	switch v.Kind() {
	case slog.KindLogValuer:
		v = v.Resolve()
	case slog.KindString:
		if v.String() == "" {
			return dst
		}
	}
	if f == JSON {
		dst = append(jsonscan.AppendString(append(dst, ','), a.Key), ':')
	} else {
		dst = append(append(append(dst, ' '), a.Key...), '=')
	}
	switch v.Kind() {
	case slog.KindString:
		return f.appendString(dst, v.String())
	case slog.KindInt64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(dst, v.Uint64(), 10)
	case slog.KindFloat64:
		return strconv.AppendFloat(dst, v.Float64(), 'f', -1, 64)
	case slog.KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case slog.KindTime:
		return f.appendString(dst, v.Time().Format(time.RFC3339))
	default:
		return f.appendAny(dst, v.Any())
	}
}

func (f Format) appendAny(dst []byte, v any) []byte {
	if err, ok := v.(error); ok {
		return f.appendString(dst, err.Error())
	}
	if f == JSON {
		if b, err := json.Marshal(v); err == nil {
			return append(dst, b...)
		}
	}
	return f.appendString(dst, fmt.Sprint(v))
}

func (f Format) appendString(dst []byte, s string) []byte {
	if f == JSON {
		return jsonscan.AppendString(dst, s)
	}
	quote := s == ""
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f || c == '"' || c == '\\':
			return strconv.AppendQuote(dst, s)
		case c == ' ' || c == '=':
			quote = true
		}
	}
	if quote {
		return append(append(append(dst, '"'), s...), '"')
	}
	return append(dst, s...)
}
