package sql

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// pgTypes are the types of one database, and what is known of its statements. Nothing that is known of a statement
// changes what it does: the columns and the types of a result are those that the server reports with it.
type pgTypes struct {
	decimalsAsNumbers bool
	bigIntegersAsText bool

	mu         sync.Mutex
	statements *simplelru.LRU[string, *pgStatement] // by their text; guarded by mu
}

// pgStatement is what is known of a statement.
type pgStatement struct {
	params  []uint32 // OIDs
	lookup  string   // the query for the types of its columns that are not built in; empty if there are none
	mayLock bool     // it may take advisory locks of the session
	columns atomic.Pointer[pgColumns]

	description *pgconn.StatementDescription // of the prepared statement of a direct session; otherwise nil
	catalog     pgCatalog                    // the types of the parameters; if it was prepared, of the columns too
}

// looksUp reports whether the lookup is sent with each execution: behind a pooler, and where the types may change.
func (s *pgStatement) looksUp() bool {
	return s.lookup != "" && (s.description == nil || s.catalog.hasComposites())
}

// pgColumns are the columns of the last result of a statement.
type pgColumns struct {
	typedColumns
	names []string // as the server reports them
	oids  []uint32
}

// maxKnown is the maximum number of statements of which a database knows something.
const maxKnown = 2048

func (ts *pgTypes) init(c *serverConnection) {
	ts.decimalsAsNumbers, ts.bigIntegersAsText = c.decimalsAsNumbers(), c.bigIntegersAsText()
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
	known := &pgStatement{params: d.ParamOIDs, lookup: catalogLookup(fieldTypes(d.Fields)), catalog: pgCatalog{}}
	known.mayLock = strings.Contains(text, "advisory") || len(functionsOf(text, sqltext.PostgreSQL)) > 0
	return known
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
func (ts *pgTypes) columnsOf(known *pgStatement, fields []pgconn.FieldDescription, catalog pgCatalog) *pgColumns {
	last := known.columns.Load()
	if last != nil && last.match(fields) {
		return last
	}
	found := &pgColumns{oids: fieldTypes(fields)}
	var columns []column
	for _, f := range fields {
		if !isBuiltin(f.DataTypeOID) && catalog[f.DataTypeOID] == nil {
			return nil
		}
		t := ts.typeOf(f.DataTypeOID, catalog)
		found.types = append(found.types, t)
		columns = append(columns, column{strings.Clone(f.Name), t.schema})
	}
	found.names = make([]string, len(columns))
	for i, c := range columns {
		found.names[i] = c.name
	}
	found.resultColumns = *newResultColumns(columns)
	if !known.looksUp() {
		known.columns.Store(found)
	}
	return found
}

var (
	pgTime       = columnType{nullable(schema.String, "RFC 3339"), convertTimestamp}
	pgTimeNoZone = columnType{nullable(schema.String, "date and time without a zone"), convertTimestamp}
	pgInteger    = columnType{nullable(schema.Integer, ""), convertInteger}
	pgBigInteger = columnType{bigIntegerType, func(b []byte) any { return textOfBig(convertInteger(b)) }}
	pgFloat      = columnType{numberOrName(""), convertFloat}
	pgInterval   = columnType{nullable(schema.String, "ISO 8601 duration"), convertString}

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
		pgtype.TimeOID:     {nullable(schema.String, "time without a zone"), convertString},
		pgtype.TimetzOID:   {nullable(schema.String, "RFC 3339 time"), convertTimetz},
		pgtype.IntervalOID: pgInterval,
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
		pgtype.ByteaArrayOID: pgtype.ByteaOID, pgtype.IntervalArrayOID: pgtype.IntervalOID,
		pgtype.TimeArrayOID: pgtype.TimeOID, pgtype.TimetzArrayOID: pgtype.TimetzOID,
		pgtype.InetArrayOID: pgtype.InetOID,
	}

	// pgTextTypes are common types whose values are returned as text.
	pgTextTypes = []uint32{
		pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.QCharOID, pgtype.UnknownOID,
		pgtype.InetOID, pgtype.CIDROID, pgtype.MacaddrOID, pgtype.BitOID,
		pgtype.VarbitOID, pgtype.XMLOID, pgtype.RecordOID, pgVoidOID, pgtype.TSVectorOID, pgtype.Int4rangeOID,
		pgtype.Int8rangeOID, pgtype.NumrangeOID, pgtype.DaterangeOID, pgtype.TsrangeOID, pgtype.TstzrangeOID,
	}
)

const pgVoidOID = 2278

// typeOf returns the type with an OID. Values of a type without a converter are returned as text: enums, ranges, rows
// without a declared type.
func (ts *pgTypes) typeOf(oid uint32, catalog pgCatalog) columnType {
	switch {
	case oid == pgtype.NumericOID && ts.decimalsAsNumbers:
		return decimalNumber
	case oid == pgtype.Int8OID && ts.bigIntegersAsText:
		return pgBigInteger
	}
	if t, ok := pgBuiltinTypes[oid]; ok {
		return t
	}
	if element := pgArrayElements[oid]; element != 0 {
		return arrayOf(ts.typeOf(element, catalog), ',')
	}
	switch t := catalog[oid]; {
	case t == nil:
	case t.element != 0:
		return arrayOf(ts.typeOf(t.element, catalog), t.delimiter)
	case t.base != 0:
		return ts.typeOf(t.base, catalog)
	case t.attributes != nil:
		members, types := make([]*schema.Member, len(t.attributes)), make([]columnType, len(t.attributes))
		for i, a := range t.attributes {
			types[i] = ts.typeOf(a.oid, catalog)
			members[i] = &schema.Member{Name: a.name, Type: types[i].schema}
		}
		return compositeOf(members, types)
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
	return s[:date] + "T" + pgClock(s[date+1:])
}

// convertTimetz returns a time with time zone in the format of RFC 3339.
func convertTimetz(b []byte) any { return pgClock(string(b)) }

// pgClock returns a time with the offset in the format of RFC 3339, if the server writes one.
func pgClock(clock string) string {
	offset := ""
	if at := strings.IndexAny(clock, "+-"); at >= 0 {
		clock, offset = clock[:at], clock[at:]
	}
	switch {
	case offset == "+00":
		offset = "Z"
	case len(offset) == len("+02"):
		offset += ":00"
	}
	return clock + offset
}

func arrayOf(elem columnType, delimiter byte) columnType {
	list := schema.ListOf(elem.schema)
	if elem.schema.Kind != schema.Any || elem.schema.OneOf != nil { // the type of an array does not fix its dimensions
		list = schema.ListOf(&schema.Type{Kind: schema.Any, Description: elem.schema.NotNull().String()})
	}
	return columnType{list.AsNullable(), func(b []byte) any { return parseArray(b, elem, delimiter) }}
}

// parseArray parses the text form of an array: {1,NULL,"a \"b\"",{…}}, optionally after its bounds.
func parseArray(b []byte, elem columnType, delimiter byte) any {
	start := strings.IndexByte(string(b), '{')
	if start < 0 {
		return string(b)
	}
	p := arrayParser{pgParser{text: b, at: start + 1}, elem, delimiter}
	return p.list()
}

// pgParser parses the text form of a value that is made of others.
type pgParser struct {
	text []byte
	at   int
}

type arrayParser struct {
	pgParser
	elem      columnType
	delimiter byte
}

func (p *arrayParser) list() []any {
	out := []any{}
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '}':
			p.at++
			return out
		case p.delimiter:
			p.at++
		case '{':
			p.at++
			out = append(out, p.list())
		case '"':
			out = append(out, p.elem.convert(p.quoted(nil)))
		default:
			from := p.at
			for p.at < len(p.text) && p.text[p.at] != p.delimiter && p.text[p.at] != '}' {
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

// quoted appends a text between quotes, in which a backslash or a quote is before each of them.
func (p *pgParser) quoted(out []byte) []byte {
	for p.at++; p.at < len(p.text); p.at++ {
		c, last := p.text[p.at], p.at+1 == len(p.text)
		switch {
		case c == '"' && (last || p.text[p.at+1] != '"'):
			p.at++
			return out
		case (c == '"' || c == '\\') && !last:
			p.at++
		}
		out = append(out, p.text[p.at])
	}
	return out
}

// compositeOf returns the type of rows with these attributes. A row of a caller has the attributes of today; one whose
// type has changed since is returned as text.
func compositeOf(members []*schema.Member, types []columnType) columnType {
	return columnType{schema.ObjectOf(members...).AsNullable(), func(b []byte) any {
		fields, ok := parseRow(b)
		if !ok || len(fields) != len(types) {
			return string(b)
		}
		out := make(map[string]any, len(fields))
		for i, f := range fields {
			out[members[i].Name] = nil
			if f != nil {
				out[members[i].Name] = types[i].convert(f)
			}
		}
		return out
	}}
}

// parseRow parses the text form of a row: (1,,"a ""b"""), where nothing is null.
func parseRow(b []byte) (fields [][]byte, ok bool) {
	if len(b) < 2 || b[0] != '(' || b[len(b)-1] != ')' {
		return nil, false
	}
	p := pgParser{text: b[:len(b)-1], at: 1}
	for {
		var field []byte
		for p.at < len(p.text) && p.text[p.at] != ',' {
			if field == nil {
				field = []byte{}
			}
			if p.text[p.at] == '"' {
				field = p.quoted(field)
				continue
			}
			field = append(field, p.text[p.at])
			p.at++
		}
		fields = append(fields, field)
		if p.at >= len(p.text) {
			return fields, true
		}
		p.at++
	}
}
