package sql

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// pgTypes are the types of one database, and what is known of its statements. Nothing that is known of a statement
// changes what it does: the columns and the types of a result are those that the server reports with it.
type pgTypes struct {
	decimalsAsNumbers bool

	mu         sync.Mutex
	statements *simplelru.LRU[string, *pgStatement] // by their text; guarded by mu
}

// pgStatement is what is known of a statement.
type pgStatement struct {
	params    []uint32 // OIDs
	userTypes []uint32 // OIDs of the types of columns that users created
	lookup    string   // the query for those that are arrays; empty if there are none
	mayLock   bool     // it may take advisory locks of the session
	columns   atomic.Pointer[pgColumns]

	description *pgconn.StatementDescription // of the prepared statement of a direct session; otherwise nil
	arrays      pgArrays                     // the result of the lookup, if it was prepared
}

// pgColumns are the columns of the last result of a statement.
type pgColumns struct {
	typedColumns
	names []string // as the server reports them
	oids  []uint32
}

// pgArrays are the OIDs of the elements of arrays, by the OID of the array.
type pgArrays map[uint32]uint32

// maxKnown is the maximum number of statements of which a database knows something.
const maxKnown = 2048

func (ts *pgTypes) init(decimalsAsNumbers bool) {
	ts.decimalsAsNumbers = decimalsAsNumbers
	ts.statements, _ = simplelru.NewLRU[string, *pgStatement](maxKnown, nil) // fails for size 0 only
}

func (ts *pgTypes) get(text string) *pgStatement {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	known, _ := ts.statements.Get(text)
	return known
}

func (ts *pgTypes) add(text string, known *pgStatement) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.statements.Add(text, known)
}

func (ts *pgTypes) forget(text string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.statements.Remove(text)
}

func newPgStatement(d *pgconn.StatementDescription, text string) *pgStatement {
	known := &pgStatement{params: d.ParamOIDs, arrays: pgArrays{}}
	known.mayLock = strings.Contains(text, "advisory") || len(functionsOf(text, sqltext.PostgreSQL)) > 0
	var list []string
	for _, f := range d.Fields {
		if f.DataTypeOID >= firstUserOID {
			known.userTypes = append(known.userTypes, f.DataTypeOID)
			list = append(list, strconv.FormatUint(uint64(f.DataTypeOID), 10))
		}
	}
	if list != nil {
		known.lookup = "SELECT oid, typelem FROM pg_catalog.pg_type WHERE typcategory = 'A' AND oid IN (" +
			strings.Join(list, ", ") + ")"
	}
	return known
}

// readArrays reads the result of the lookup of a statement.
func readArrays(pipe *pgPipeline) (pgArrays, error) {
	arrays := pgArrays{}
	return arrays, readResult(pipe.Pipeline, arrays.add)
}

// add adds a row of the lookup.
func (a pgArrays) add(row [][]byte) {
	array, _ := strconv.ParseUint(string(row[0]), 10, 32) // the server writes numbers
	element, _ := strconv.ParseUint(string(row[1]), 10, 32)
	a[uint32(array)] = uint32(element)
}

// match reports whether the columns are those of a result.
func (c *pgColumns) match(fields []pgconn.FieldDescription) bool {
	if len(fields) != len(c.oids) {
		return false
	}
	for i, f := range fields {
		if f.DataTypeOID != c.oids[i] || f.Name != c.names[i] {
			return false
		}
	}
	return true
}

// columnsOf returns the columns of a result, or nil if a type is one that the lookup has not asked for.
func (ts *pgTypes) columnsOf(known *pgStatement, fields []pgconn.FieldDescription, arrays pgArrays) *pgColumns {
	last := known.columns.Load()
	if last != nil && last.match(fields) {
		return last
	}
	found := &pgColumns{}
	var columns []column
	for _, f := range fields {
		if f.DataTypeOID >= firstUserOID && !slices.Contains(known.userTypes, f.DataTypeOID) {
			return nil
		}
		t := ts.typeOf(f.DataTypeOID, arrays)
		found.types, found.oids = append(found.types, t), append(found.oids, f.DataTypeOID)
		columns = append(columns, column{strings.Clone(f.Name), t.schema})
	}
	found.names = make([]string, len(columns))
	for i, c := range columns {
		found.names[i] = c.name
	}
	found.resultColumns = *newResultColumns(columns)
	if known.lookup == "" || known.description != nil {
		known.columns.Store(found)
	}
	return found
}

var (
	pgTime       = columnType{nullable(schema.String, "RFC 3339"), convertTimestamp}
	pgTimeNoZone = columnType{nullable(schema.String, "date and time without a zone"), convertTimestamp}
	pgInteger    = columnType{nullable(schema.Integer, ""), convertInteger}
	pgFloat      = columnType{nullable(schema.Number, ""), convertFloat}

	pgBuiltinTypes = map[uint32]columnType{
		pgtype.BoolOID: {nullable(schema.Bool, ""), func(b []byte) any { return len(b) > 0 && b[0] == 't' }},
		pgtype.Int2OID: pgInteger, pgtype.Int4OID: pgInteger, pgtype.Int8OID: pgInteger, pgtype.OIDOID: pgInteger,
		pgtype.Float4OID: pgFloat, pgtype.Float8OID: pgFloat,
		pgtype.NumericOID:   decimalText,
		pgtype.ByteaOID:     {nullable(schema.String, "base64"), convertBytea},
		pgtype.JSONOID:      jsonType,
		pgtype.JSONBOID:     jsonType,
		pgtype.DateOID:      dateType,
		pgtype.TimestampOID: pgTimeNoZone, pgtype.TimestamptzOID: pgTime,
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
func (ts *pgTypes) typeOf(oid uint32, arrays pgArrays) columnType {
	if oid == pgtype.NumericOID && ts.decimalsAsNumbers {
		return decimalNumber
	}
	if t, ok := pgBuiltinTypes[oid]; ok {
		return t
	}
	if elem, ok := pgArrayElements[oid]; ok {
		return arrayOf(ts.typeOf(elem, arrays))
	}
	if elem, ok := arrays[oid]; ok {
		return arrayOf(ts.typeOf(elem, nil))
	}
	return textType
}

func convertBytea(b []byte) any {
	raw, err := hex.DecodeString(strings.TrimPrefix(string(b), `\x`))
	if err != nil {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func convertTimestamp(b []byte) any { return pgTimestamp(string(b)) }

// pgTimestamp returns a timestamp in the format of RFC 3339, with the offset that the server writes; a type without a
// zone has none. Infinity and years BC are returned unchanged.
func pgTimestamp(s string) string {
	const date = len("2006-01-02")
	if len(s) < len("2006-01-02 15:04:05") || s[4] != '-' || s[date] != ' ' || strings.HasSuffix(s, "BC") {
		return s
	}
	clock, offset := s[date+1:], ""
	if at := strings.IndexAny(clock, "+-"); at >= 0 {
		clock, offset = clock[:at], clock[at:]
	}
	switch {
	case offset == "+00":
		offset = "Z"
	case len(offset) == len("+02"):
		offset += ":00"
	}
	return s[:date] + "T" + clock + offset
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
// sent in binary, to a parameter whose type the server has just described.
func pgArguments(types []uint32, args []any) (values [][]byte, oids []uint32, formats []int16) {
	values = make([][]byte, len(args))
	for i, v := range args {
		if raw, ok := v.([]byte); ok {
			values[i] = raw
			if i < len(types) && types[i] == pgtype.ByteaOID {
				if formats == nil {
					oids, formats = make([]uint32, len(args)), make([]int16, len(args))
				}
				oids[i], formats[i] = pgtype.ByteaOID, 1
			}
			continue
		}
		if v != nil {
			values[i] = pgScalar(make([]byte, 0, 16), v)
		}
	}
	return values, oids, formats
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
	case []any:
		return pgArray(dst, v)
	case []string, []int64, []float64, []bool:
		return pgArray(dst, untypedList(v).([]any))
	}
	dst, _ = value.AppendJSON(dst, v) // sqltext binds only values that have a JSON form
	return dst
}

// pgArray encodes an array with every element in quotes.
func pgArray(dst []byte, list []any) []byte {
	dst = append(dst, '{')
	for i, elem := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch elem := elem.(type) {
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
