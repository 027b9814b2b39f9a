package sql

import (
	"encoding/base64"
	"math"
	"strings"
	"time"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// liteKind is how the declared type of a column reads its values. SQLite lets any value stand in any column, so what does not read as the
// declared type stays what it is.
type liteKind int

const (
	asStored liteKind = iota
	asBool
	asTime
	asJSON
)

func kindOf(declared string) liteKind {
	base, _, _ := strings.Cut(strings.ToLower(declared), "(")
	switch strings.TrimSpace(base) {
	case "boolean", "bool":
		return asBool
	case "datetime", "timestamp", "date", "timestamp with time zone", "timestamptz":
		return asTime
	case "json":
		return asJSON
	}
	return asStored
}

// liteColumn describes a column. Its declared type does not bind SQLite, so it is told in words.
func liteColumn(name, declared string) column {
	t := &schema.Type{Kind: schema.Any}
	if declared != "" {
		t.Description = strings.ToUpper(declared)
	}
	return column{name, t}
}

// cell reads a value of the driver and adds the bytes of its text to size.
func (k liteKind) cell(v any, size *int) any {
	switch v := v.(type) {
	case int64:
		if k == asBool && (v == 0 || v == 1) {
			return v == 1
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	case string:
		*size += len(v)
		switch k {
		case asTime:
			return timestamp(v)
		case asJSON:
			if decoded, err := value.Decode([]byte(v)); err == nil {
				return decoded
			}
		}
	case []byte:
		*size += len(v)
		return base64.StdEncoding.EncodeToString(v)
	}
	return v
}

var sqlTimes = []string{"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"}

// timestamp writes a date with a time of day as RFC 3339. One without a zone is in UTC. Everything else stays as it is.
func timestamp(s string) string {
	if len(s) < len("2006-01-02T15:04:05") {
		return s
	}
	for _, layout := range sqlTimes {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(time.RFC3339Nano)
		}
	}
	return s
}
