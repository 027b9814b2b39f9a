package sql

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// pgTypes are the types of one database: those that every server has, and those it learned.
type pgTypes struct {
	decimalsAsNumbers bool
	learned           sync.Map // uint32 → columnType
}

// columnsOf returns the columns of a statement. A prepared statement keeps them.
func (ts *pgTypes) columnsOf(st *pgStatement, fields []pgconn.FieldDescription) *typedColumns {
	if st != nil && st.columns != nil {
		return st.columns
	}
	found := &typedColumns{}
	var columns []column
	for _, f := range fields {
		t := ts.typeOf(f.DataTypeOID)
		found.types = append(found.types, t)
		columns = append(columns, column{strings.Clone(f.Name), t.schema})
	}
	found.resultColumns = *newResultColumns(columns)
	if st != nil {
		st.columns = found
	}
	return found
}

var (
	pgTime    = columnType{nullable(schema.String, "RFC 3339"), func(b []byte) any { return pgTimestamp(string(b)) }}
	pgInteger = columnType{nullable(schema.Integer, ""), convertInteger}
	pgFloat   = columnType{nullable(schema.Number, ""), convertFloat}

	pgBuiltinTypes = map[uint32]columnType{
		pgtype.BoolOID: {nullable(schema.Bool, ""), func(b []byte) any { return len(b) > 0 && b[0] == 't' }},
		pgtype.Int2OID: pgInteger, pgtype.Int4OID: pgInteger, pgtype.Int8OID: pgInteger, pgtype.OIDOID: pgInteger,
		pgtype.Float4OID: pgFloat, pgtype.Float8OID: pgFloat,
		pgtype.NumericOID:   decimalText,
		pgtype.ByteaOID:     {nullable(schema.String, "base64"), convertBytea},
		pgtype.JSONOID:      jsonType,
		pgtype.JSONBOID:     jsonType,
		pgtype.DateOID:      dateType,
		pgtype.TimestampOID: pgTime, pgtype.TimestamptzOID: pgTime,
		pgtype.IntervalOID: {nullable(schema.String, "ISO 8601 duration"), convertString},
		pgtype.UUIDOID:     {&schema.Type{Kind: schema.String, Nullable: true, Format: "uuid"}, convertString},
	}

	pgArrayElements = map[uint32]uint32{
		pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.Int2ArrayOID: pgtype.Int2OID,
		pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int8ArrayOID: pgtype.Int8OID,
		pgtype.Float4ArrayOID: pgtype.Float4OID, pgtype.Float8ArrayOID: pgtype.Float8OID,
		pgtype.NumericArrayOID: pgtype.NumericOID, pgtype.TextArrayOID: pgtype.TextOID,
		pgtype.VarcharArrayOID: pgtype.VarcharOID, pgtype.BPCharArrayOID: pgtype.BPCharOID,
		pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.DateArrayOID: pgtype.DateOID,
		pgtype.TimestampArrayOID: pgtype.TimestampOID, pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID,
		pgtype.JSONArrayOID: pgtype.JSONOID, pgtype.JSONBArrayOID: pgtype.JSONBOID,
		pgtype.ByteaArrayOID: pgtype.ByteaOID,
	}
)

// firstUserOID is the first OID of types that users create.
const firstUserOID = 16384

// typeOf returns the type with an OID. Values of an unknown type are returned as text.
func (ts *pgTypes) typeOf(oid uint32) columnType {
	if oid == pgtype.NumericOID && ts.decimalsAsNumbers {
		return decimalNumber
	}
	if t, ok := pgBuiltinTypes[oid]; ok {
		return t
	}
	if elem, ok := pgArrayElements[oid]; ok {
		return arrayOf(ts.typeOf(elem))
	}
	if t, ok := ts.learned.Load(oid); ok {
		return t.(columnType)
	}
	return textType
}

// learn queries the server for types that users have created, to find out which ones are arrays.
func (ts *pgTypes) learn(ctx context.Context, conn *pgconn.PgConn, fields []pgconn.FieldDescription) error {
	for _, f := range fields {
		if f.DataTypeOID < firstUserOID {
			continue
		}
		if _, ok := ts.learned.Load(f.DataTypeOID); ok {
			continue
		}
		query := "SELECT typelem, typcategory = 'A' FROM pg_catalog.pg_type WHERE oid = " +
			strconv.FormatUint(uint64(f.DataTypeOID), 10)
		result := conn.ExecParams(ctx, query, nil, nil, nil, nil).Read()
		if result.Err != nil {
			return result.Err
		}
		t := textType
		if len(result.Rows) == 1 && string(result.Rows[0][1]) == "t" {
			elem, err := strconv.ParseUint(string(result.Rows[0][0]), 10, 32)
			if err != nil {
				return err
			}
			t = arrayOf(ts.typeOf(uint32(elem)))
		}
		ts.learned.Store(f.DataTypeOID, t)
	}
	return nil
}

func convertBytea(b []byte) any {
	raw, err := hex.DecodeString(strings.TrimPrefix(string(b), `\x`))
	if err != nil {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// pgTimestamp returns a timestamp in the format of RFC 3339, in UTC as the session is. Infinity and years
// BC are returned unchanged.
func pgTimestamp(s string) string {
	const date = len("2006-01-02")
	if len(s) < len("2006-01-02 15:04:05") || s[4] != '-' || s[date] != ' ' || strings.HasSuffix(s, "BC") {
		return s
	}
	clock := s[date+1:]
	if zone := strings.IndexAny(clock, "+-"); zone >= 0 {
		if strings.Trim(clock[zone+1:], "0:") != "" {
			return s[:date] + "T" + clock
		}
		clock = clock[:zone]
	}
	return s[:date] + "T" + clock + "Z"
}

func arrayOf(elem columnType) columnType {
	list := schema.ListOf(elem.schema)
	if elem.schema.Kind != schema.Any { // the type of an array does not fix its dimensions
		list = schema.ListOf(&schema.Type{Kind: schema.Any, Description: elem.schema.Kind.String()})
	}
	return columnType{list.AsNullable(), func(b []byte) any { return parseArray(b, elem) }}
}

// parseArray parses the text form of an array: {1,NULL,"a \"b\"",{…}}, optionally after its bounds.
func parseArray(b []byte, elem columnType) any {
	start := strings.IndexByte(string(b), '{')
	if start < 0 {
		return string(b)
	}
	p := arrayParser{text: b, at: start + 1, elem: elem}
	return p.list()
}

type arrayParser struct {
	text []byte
	at   int
	elem columnType
}

func (p *arrayParser) list() []any {
	out := []any{}
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '}':
			p.at++
			return out
		case ',':
			p.at++
		case '{':
			p.at++
			out = append(out, p.list())
		case '"':
			out = append(out, p.elem.convert(p.quoted()))
		default:
			from := p.at
			for p.at < len(p.text) && p.text[p.at] != ',' && p.text[p.at] != '}' {
				p.at++
			}
			if word := p.text[from:p.at]; string(word) == "NULL" {
				out = append(out, nil)
			} else {
				out = append(out, p.elem.convert(word))
			}
		}
	}
	return out
}

func (p *arrayParser) quoted() []byte {
	var out []byte
	for p.at++; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) {
			p.at++
		}
		out = append(out, p.text[p.at])
	}
	p.at++
	return out
}

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
