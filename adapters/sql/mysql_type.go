package sql

import (
	"database/sql/driver"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// mysqlTypes converts the values of one connection block.
type mysqlTypes struct{ decimalsAsNumbers bool }

// mysqlColumns are the columns of a result.
type mysqlColumns struct {
	resultColumns
	types []mysqlType
}

// mysqlType is how the values of a column are converted.
type mysqlType int

const (
	mysqlText mysqlType = iota
	mysqlNumber
	mysqlDecimal
	mysqlTime
	mysqlBytes
	mysqlBits
	mysqlJSON
)

// columnsOf returns the columns of a statement. A prepared statement keeps them until the schema changes.
func (ts *mysqlTypes) columnsOf(s *mysqlStatement, rows driver.Rows, names []string) *mysqlColumns {
	typed, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	columns := make([]column, len(names))
	types := make([]mysqlType, len(names))
	for i, name := range names {
		columns[i].name = name
		columns[i].typ, types[i] = ts.typeOf(typed.ColumnTypeDatabaseTypeName(i))
	}
	found := &mysqlColumns{resultColumns: *newResultColumns(columns), types: types}
	if known := s.columns; known != nil && slices.Equal(types, known.types) && found.sameNames(&known.resultColumns) {
		return known
	}
	s.columns = found
	return found
}

// typeOf returns the type of a column by the driver's name for it.
func (ts *mysqlTypes) typeOf(name string) (*schema.Type, mysqlType) {
	switch name = strings.TrimPrefix(name, "UNSIGNED "); name {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		return nullable(schema.Integer, ""), mysqlNumber
	case "FLOAT", "DOUBLE":
		return nullable(schema.Number, ""), mysqlNumber
	case "DECIMAL":
		if ts.decimalsAsNumbers {
			return nullable(schema.Number, "decimal"), mysqlDecimal
		}
		return nullable(schema.String, "decimal"), mysqlText
	case "DATETIME", "TIMESTAMP":
		return nullable(schema.String, "RFC 3339"), mysqlTime
	case "DATE":
		return nullable(schema.String, "date"), mysqlText
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "VECTOR":
		return nullable(schema.String, "base64"), mysqlBytes
	case "BIT":
		return nullable(schema.Integer, "bits"), mysqlBits
	case "JSON":
		return &schema.Type{Kind: schema.Any}, mysqlJSON
	case "NULL":
		return &schema.Type{Kind: schema.Any}, mysqlText
	}
	return nullable(schema.String, ""), mysqlText
}

// convert converts a value of the driver and adds the length of its text to size.
func (t mysqlType) convert(v any, size *int) any {
	switch v := v.(type) {
	case []byte:
		*size += len(v)
		return t.convertText(v)
	case string:
		*size += len(v)
		return t.convertText([]byte(v))
	case uint64:
		if v > math.MaxInt64 {
			return value.ParseNumber(strconv.FormatUint(v, 10))
		}
		return int64(v)
	case float32: // keeps the digits that FLOAT displays
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return nil
		}
		return f
	}
	return v
}

func (t mysqlType) convertText(b []byte) any {
	switch t {
	case mysqlNumber, mysqlDecimal:
		return value.ParseNumber(string(b))
	case mysqlTime:
		return formatTimestamp(string(b))
	case mysqlBytes:
		return base64.StdEncoding.EncodeToString(b)
	case mysqlBits:
		var n uint64
		for _, c := range b {
			n = n<<8 | uint64(c)
		}
		return value.ParseNumber(strconv.FormatUint(n, 10))
	case mysqlJSON:
		if v, err := value.Decode(b); err == nil {
			return v
		}
	}
	return string(b)
}
