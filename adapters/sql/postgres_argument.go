package sql

import (
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/hcl/value"
)

// pgArguments encodes bound values as text, which the server parses as the type of the parameter. So a
// number can be bound to a text parameter, and a string to a date, an enum or a JSON document. Bytes are
// sent in binary.
func pgArguments(types []uint32, args []any) (values [][]byte, formats []int16) {
	values = make([][]byte, len(args))
	for i, v := range args {
		if raw, ok := v.([]byte); ok {
			values[i] = raw
			if i < len(types) && types[i] == pgtype.ByteaOID {
				if formats == nil {
					formats = make([]int16, len(args))
				}
				formats[i] = 1
			}
			continue
		}
		if v != nil {
			values[i] = pgScalar(make([]byte, 0, 16), v)
		}
	}
	return values, formats
}

func pgScalar(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(dst, v...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	case []byte:
		return append(dst, v...)
	case []string:
		return pgArray(dst, v)
	case []int64:
		return pgArray(dst, v)
	case []float64:
		return pgArray(dst, v)
	case []bool:
		return pgArray(dst, v)
	case []any:
		return pgArray(dst, v)
	}
	dst, _ = value.AppendJSON(dst, v) // sqltext binds only values that have a JSON form
	return dst
}

// pgArray encodes an array with every element in quotes.
func pgArray[T any](dst []byte, list []T) []byte {
	dst = append(dst, '{')
	for i, elem := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch elem := any(elem).(type) {
		case nil:
			dst = append(dst, "NULL"...)
		case []any:
			dst = pgArray(dst, elem)
		default:
			dst = append(dst, '"')
			for _, c := range pgScalar(nil, elem) {
				if c == '"' || c == '\\' {
					dst = append(dst, '\\')
				}
				dst = append(dst, c)
			}
			dst = append(dst, '"')
		}
	}
	return append(dst, '}')
}
