//go:build cgo

package sql

import (
	"encoding/base64"
	"math"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// sqliteType is how the declared type of a column converts its values. SQLite allows any value in any
// column, so a value that does not fit the declared type is returned as stored. So is a date or a time, whatever its
// form, because another one would not find its row.
type sqliteType int

const (
	sqliteStored sqliteType = iota
	sqliteBool
	sqliteJSON
)

func sqliteTypeOf(declared string) sqliteType {
	base, _, _ := strings.Cut(strings.ToLower(declared), "(")
	switch strings.TrimSpace(base) {
	case "boolean", "bool":
		return sqliteBool
	case "json":
		return sqliteJSON
	}
	return sqliteStored
}

// newSQLiteColumn describes a column. The declared type is only a description, because SQLite does not
// enforce it.
func newSQLiteColumn(name, declared string) column {
	t := &schema.Type{Kind: schema.Any}
	if declared != "" {
		t.Description = strings.ToUpper(declared)
	}
	return column{name, t}
}

// convert converts a value of the driver and adds the length of its text to size.
func (t sqliteType) convert(v any, size *int) any {
	switch v := v.(type) {
	case int64:
		if t == sqliteBool && (v == 0 || v == 1) {
			return v == 1
		}
	case float64: // SQLite stores NaN as null
		if math.IsInf(v, 1) {
			return sqliteInfinity
		} else if math.IsInf(v, -1) {
			return "-" + sqliteInfinity
		}
	case string:
		*size += len(v)
		if t == sqliteJSON {
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

// sqliteInfinity is how SQLite writes infinity in JSON. A column for numbers takes the text for the number, so a value
// that was read finds its row.
const sqliteInfinity = "9e999"
