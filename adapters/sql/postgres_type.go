package sql

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// A pgType reads the text of a value.
type pgType struct {
	schema *schema.Type
	read   func([]byte) any
}

// pgTypes are the types of one database: those that every server has, and those that were met.
type pgTypes struct {
	decimals bool     // are numbers
	met      sync.Map // uint32 → pgType
}

// pgHeading is the columns of a result.
type pgHeading struct {
	heading
	types []pgType
}

// heading is made once for a prepared statement.
func (ts *pgTypes) heading(st *pgPrepared, fields []pgconn.FieldDescription) *pgHeading {
	if st != nil && st.heading != nil {
		return st.heading
	}
	h := &pgHeading{}
	var columns []column
	for _, f := range fields {
		t := ts.of(f.DataTypeOID)
		h.types = append(h.types, t)
		columns = append(columns, column{strings.Clone(f.Name), t.schema})
	}
	h.heading = *newHeading(columns)
	if st != nil {
		st.heading = h
	}
	return h
}

func nullable(k schema.Kind, doc string) *schema.Type {
	return &schema.Type{Kind: k, Nullable: true, Description: doc}
}

var (
	pgText  = pgType{nullable(schema.String, ""), readString}
	pgTimes = pgType{nullable(schema.String, "RFC 3339"), func(b []byte) any { return pgTimestamp(string(b)) }}
	pgWhole = pgType{nullable(schema.Integer, ""), readInteger}
	pgReal  = pgType{nullable(schema.Number, ""), readFloat}
	pgJSON  = pgType{&schema.Type{Kind: schema.Any}, readJSON}

	pgKnown = map[uint32]pgType{
		pgtype.BoolOID: {nullable(schema.Bool, ""), func(b []byte) any { return len(b) > 0 && b[0] == 't' }},
		pgtype.Int2OID: pgWhole, pgtype.Int4OID: pgWhole, pgtype.Int8OID: pgWhole, pgtype.OIDOID: pgWhole,
		pgtype.Float4OID: pgReal, pgtype.Float8OID: pgReal,
		pgtype.NumericOID:   {nullable(schema.String, "decimal"), readString},
		pgtype.ByteaOID:     {nullable(schema.String, "base64"), readBytea},
		pgtype.JSONOID:      pgJSON,
		pgtype.JSONBOID:     pgJSON,
		pgtype.DateOID:      {nullable(schema.String, "date"), readString},
		pgtype.TimestampOID: pgTimes, pgtype.TimestamptzOID: pgTimes,
		pgtype.IntervalOID: {nullable(schema.String, "ISO 8601 duration"), readString},
		pgtype.UUIDOID:     {&schema.Type{Kind: schema.String, Nullable: true, Format: "uuid"}, readString},
	}

	pgArrays = map[uint32]uint32{
		pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.Int2ArrayOID: pgtype.Int2OID, pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int8ArrayOID: pgtype.Int8OID,
		pgtype.Float4ArrayOID: pgtype.Float4OID, pgtype.Float8ArrayOID: pgtype.Float8OID, pgtype.NumericArrayOID: pgtype.NumericOID,
		pgtype.TextArrayOID: pgtype.TextOID, pgtype.VarcharArrayOID: pgtype.VarcharOID, pgtype.BPCharArrayOID: pgtype.BPCharOID,
		pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.DateArrayOID: pgtype.DateOID, pgtype.TimestampArrayOID: pgtype.TimestampOID,
		pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID, pgtype.JSONArrayOID: pgtype.JSONOID, pgtype.JSONBArrayOID: pgtype.JSONBOID, pgtype.ByteaArrayOID: pgtype.ByteaOID,
	}
)

// firstOwnType is the first number of a type that a user made.
const firstOwnType = 16384

// of is how values of a type are read; as their text when nothing is known of it.
func (ts *pgTypes) of(oid uint32) pgType {
	if oid == pgtype.NumericOID && ts.decimals {
		return pgType{nullable(schema.Number, "decimal"), readDecimal}
	}
	if t, ok := pgKnown[oid]; ok {
		return t
	}
	if elem, ok := pgArrays[oid]; ok {
		return arrayOf(ts.of(elem))
	}
	if t, ok := ts.met.Load(oid); ok {
		return t.(pgType)
	}
	return pgText
}

// learn asks the server about types that users made: whether they are arrays.
func (ts *pgTypes) learn(ctx context.Context, conn *pgconn.PgConn, fields []pgconn.FieldDescription) error {
	for _, f := range fields {
		if f.DataTypeOID < firstOwnType {
			continue
		}
		if _, ok := ts.met.Load(f.DataTypeOID); ok {
			continue
		}
		result := conn.ExecParams(ctx, "SELECT typelem, typcategory = 'A' FROM pg_catalog.pg_type WHERE oid = "+strconv.FormatUint(uint64(f.DataTypeOID), 10), nil, nil, nil, nil).Read()
		if result.Err != nil {
			return result.Err
		}
		t := pgText
		if len(result.Rows) == 1 && string(result.Rows[0][1]) == "t" {
			elem, err := strconv.ParseUint(string(result.Rows[0][0]), 10, 32)
			if err != nil {
				return err
			}
			t = arrayOf(ts.of(uint32(elem)))
		}
		ts.met.Store(f.DataTypeOID, t)
	}
	return nil
}

func readString(b []byte) any { return string(b) }

func readInteger(b []byte) any {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return string(b)
	}
	return n
}

// readFloat reads NaN and the infinities, which JSON cannot say, as null.
func readFloat(b []byte) any {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

func readDecimal(b []byte) any {
	if len(b) == 0 || b[len(b)-1] < '0' || b[len(b)-1] > '9' { // NaN, Infinity
		return nil
	}
	return value.Number(string(b))
}

func readJSON(b []byte) any {
	v, err := value.Decode(b)
	if err != nil { // json may hold duplicate keys, which no object here can
		return string(b)
	}
	return v
}

func readBytea(b []byte) any {
	raw, err := hex.DecodeString(strings.TrimPrefix(string(b), `\x`))
	if err != nil {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// pgTimestamp writes a timestamp as RFC 3339. Without a zone it is in UTC, as the session is. Infinity and years BC stay as they are.
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

func arrayOf(elem pgType) pgType {
	list := schema.ListOf(elem.schema)
	if elem.schema.Kind != schema.Any { // an array may have more dimensions than its type says
		list = &schema.Type{Kind: schema.List, Elem: &schema.Type{Kind: schema.Any, Description: elem.schema.Kind.String()}}
	}
	return pgType{list.AsNullable(), func(b []byte) any { return readArray(b, elem) }}
}

// readArray reads the text of an array: {1,NULL,"a \"b\"",{…}}, after bounds that are not 1.
func readArray(b []byte, elem pgType) any {
	start := strings.IndexByte(string(b), '{')
	if start < 0 {
		return string(b)
	}
	r := arrayReader{text: b, at: start + 1, elem: elem}
	return r.list()
}

type arrayReader struct {
	text []byte
	at   int
	elem pgType
}

func (r *arrayReader) list() []any {
	out := []any{}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case '}':
			r.at++
			return out
		case ',':
			r.at++
		case '{':
			r.at++
			out = append(out, r.list())
		case '"':
			out = append(out, r.elem.read(r.quoted()))
		default:
			from := r.at
			for r.at < len(r.text) && r.text[r.at] != ',' && r.text[r.at] != '}' {
				r.at++
			}
			if word := r.text[from:r.at]; string(word) == "NULL" {
				out = append(out, nil)
			} else {
				out = append(out, r.elem.read(word))
			}
		}
	}
	return out
}

func (r *arrayReader) quoted() []byte {
	var out []byte
	for r.at++; r.at < len(r.text) && r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' && r.at+1 < len(r.text) {
			r.at++
		}
		out = append(out, r.text[r.at])
	}
	r.at++
	return out
}
