package sql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgCatalog has the types of a database that are not built in, by their OID, and those that they are made of.
type pgCatalog map[uint32]*pgUserType

// pgUserType is a type of a database. At most one of the fields is set, and none of an enum.
type pgUserType struct {
	element    uint32 // of an array
	delimiter  byte   // between the elements of an array
	base       uint32 // of a domain
	subtype    uint32 // of a range
	attributes []pgAttribute
}

// pgAttribute is an attribute of a composite type.
type pgAttribute struct {
	name string
	oid  uint32
}

// isBuiltin reports whether the converters know a type without a look at the catalog.
func isBuiltin(oid uint32) bool {
	_, ok := pgBuiltinTypes[oid]
	return ok || pgArrayElements[oid] != 0 || slices.Contains(pgTextTypes, oid)
}

// catalogQuery is completed by OIDs. Its rows are the types and those that they are made of, at any depth: the OID, the
// element, its delimiter, the base type and the subtype of a range, and one row for each attribute of a composite type.
const catalogQuery = "WITH RECURSIVE t (oid) AS (SELECT oid FROM pg_catalog.pg_type WHERE oid IN (%s) UNION " +
	"SELECT part.oid FROM t JOIN pg_catalog.pg_type p ON p.oid = t.oid, LATERAL (" +
	"SELECT p.typelem WHERE p.typinput = " + arrayInput + " UNION ALL SELECT p.typbasetype WHERE p.typtype = 'd' " +
	"UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid = p.oid " +
	"UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE p.typtype = 'c' AND a.attrelid = p.typrelid " +
	"AND a.attnum > 0 AND NOT a.attisdropped) part (oid)) " +
	"SELECT t.oid, CASE WHEN p.typinput = " + arrayInput + " THEN p.typelem ELSE 0 END, p.typdelim, p.typbasetype, " +
	"a.attname, a.atttypid, r.rngsubtype FROM t JOIN pg_catalog.pg_type p ON p.oid = t.oid " +
	"LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = p.oid LEFT JOIN pg_catalog.pg_attribute a ON " +
	"p.typtype = 'c' AND a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY t.oid, a.attnum"

const arrayInput = "'pg_catalog.array_in'::pg_catalog.regproc"

// catalogLookup returns the query for the types that are not built in; empty if all of them are.
func catalogLookup(oids []uint32) string {
	var list []string
	for _, oid := range oids {
		if text := strconv.FormatUint(uint64(oid), 10); !isBuiltin(oid) && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if list == nil {
		return ""
	}
	return strings.Replace(catalogQuery, "%s", strings.Join(list, ", "), 1)
}

// readCatalog reads the result of a catalogLookup.
func readCatalog(pipe *pgPipeline) (pgCatalog, error) {
	types := pgCatalog{}
	return types, readResult(pipe.Pipeline, types.add)
}

// add adds a row of a catalogLookup.
func (c pgCatalog) add(row [][]byte) {
	number := func(i int) uint32 {
		n, _ := strconv.ParseUint(string(row[i]), 10, 32) // the server writes numbers; null is 0
		return uint32(n)
	}
	oid := number(0)
	t := c[oid]
	if t == nil {
		t = &pgUserType{element: number(1), base: number(3), subtype: number(6), delimiter: row[2][0]}
		c[oid] = t
	}
	if row[4] != nil {
		t.attributes = append(t.attributes, pgAttribute{string(row[4]), number(5)})
	}
}

// hasComposites reports whether one of the types is a composite type, whose attributes may change while its OID stays.
func (c pgCatalog) hasComposites() bool {
	for _, t := range c {
		if t.attributes != nil {
			return true
		}
	}
	return false
}

// fieldTypes returns the OIDs of the columns of a result.
func fieldTypes(fields []pgconn.FieldDescription) []uint32 {
	oids := make([]uint32, len(fields))
	for i, f := range fields {
		oids[i] = f.DataTypeOID
	}
	return oids
}
