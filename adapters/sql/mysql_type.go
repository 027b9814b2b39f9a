package sql

import (
	"database/sql/driver"
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// myTypes are how values of a server are read.
type myTypes struct{ decimals bool }

// myHeading is the columns of a result.
type myHeading struct {
	heading
	kinds []myKind
}

// A myKind reads the values of one column.
type myKind int

const (
	myText myKind = iota
	myNumber
	myDecimal
	myTime
	myBytes
	myBits
	myJSON
)

// heading is made once for a prepared statement, unless the schema changed since.
func (ts *myTypes) heading(s *myStatement, rows driver.Rows, names []string) *myHeading {
	typed, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	columns := make([]column, len(names))
	kinds := make([]myKind, len(names))
	for i, name := range names {
		columns[i].name = name
		columns[i].typ, kinds[i] = ts.of(typed.ColumnTypeDatabaseTypeName(i))
	}
	h := &myHeading{heading: *newHeading(columns), kinds: kinds}
	if s.heading != nil && h.same(s.heading) {
		return s.heading
	}
	s.heading = h
	return h
}

func (h *myHeading) same(o *myHeading) bool {
	if len(h.kinds) != len(o.kinds) {
		return false
	}
	for i := range h.kinds {
		if h.kinds[i] != o.kinds[i] || h.columns[i].name != o.columns[i].name {
			return false
		}
	}
	return true
}

// of is the type of a column that the driver names so.
func (ts *myTypes) of(name string) (*schema.Type, myKind) {
	switch name = strings.TrimPrefix(name, "UNSIGNED "); name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		return nullable(schema.Integer, ""), myNumber
	case "FLOAT", "DOUBLE":
		return nullable(schema.Number, ""), myNumber
	case "DECIMAL":
		if ts.decimals {
			return nullable(schema.Number, "decimal"), myDecimal
		}
		return nullable(schema.String, "decimal"), myText
	case "DATETIME", "TIMESTAMP":
		return nullable(schema.String, "RFC 3339"), myTime
	case "DATE":
		return nullable(schema.String, "date"), myText
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "VECTOR":
		return nullable(schema.String, "base64"), myBytes
	case "BIT":
		return nullable(schema.Integer, "bits"), myBits
	case "JSON":
		return &schema.Type{Kind: schema.Any}, myJSON
	case "NULL":
		return &schema.Type{Kind: schema.Any}, myText
	}
	return nullable(schema.String, ""), myText
}

// cell reads a value of the driver and adds the bytes of its text to size.
func (k myKind) cell(v any, size *int) any {
	switch v := v.(type) {
	case []byte:
		*size += len(v)
		return k.text(v)
	case string:
		*size += len(v)
		return k.text([]byte(v))
	case uint64:
		if v > math.MaxInt64 {
			return value.Number(strconv.FormatUint(v, 10))
		}
		return int64(v)
	case float32:
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64) // the digits that a FLOAT shows
		if err != nil {
			return nil
		}
		return f
	}
	return v
}

func (k myKind) text(b []byte) any {
	switch k {
	case myNumber, myDecimal:
		return value.Number(string(b))
	case myTime:
		return timestamp(string(b))
	case myBytes:
		return base64.StdEncoding.EncodeToString(b)
	case myBits:
		var n uint64
		for _, c := range b {
			n = n<<8 | uint64(c)
		}
		return value.Number(strconv.FormatUint(n, 10))
	case myJSON:
		if v, err := value.Decode(b); err == nil {
			return v
		}
	}
	return string(b)
}
