package dbschema

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hatchel/internal/lazyregexp"
)

type mysql struct{}

func (d mysql) columns(ctx context.Context, q Query) ([]map[string]any, error) {
	rows, err := q(ctx, `SELECT '' AS table_schema, t.TABLE_NAME AS table_name, t.TABLE_TYPE LIKE '%VIEW' AS is_view,
  0 AS qualified, CASE WHEN t.TABLE_TYPE LIKE '%VIEW' THEN '' ELSE t.TABLE_COMMENT END AS table_comment,
  c.COLUMN_NAME AS column_name, CAST(c.COLUMN_TYPE AS CHAR) AS data_type, c.DATA_TYPE AS base_type,
  c.IS_NULLABLE = 'YES' AS nullable, c.COLUMN_DEFAULT IS NOT NULL AND c.COLUMN_DEFAULT <> 'NULL' AS has_default,
  c.EXTRA LIKE '%auto_increment%' OR c.EXTRA LIKE '%VIRTUAL GENERATED%' OR c.EXTRA LIKE '%STORED GENERATED%'
    AS generated, c.COLUMN_DEFAULT AS default_value, c.COLUMN_COMMENT AS comment,
  NOT c.PRIVILEGES LIKE '%insert%' AS insert_denied, NOT c.PRIVILEGES LIKE '%update%' AS update_denied,
  COALESCE(c.GENERATION_EXPRESSION = 'ROW END', false) AS row_end,
  CASE WHEN t.ENGINE = 'ARCHIVE' THEN 'the storage engine ARCHIVE does not do it' END AS no_update
FROM information_schema.TABLES t LEFT JOIN information_schema.COLUMNS c
  ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME AND c.PRIVILEGES LIKE '%select%'
WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE <> 'SEQUENCE' ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION`)
	addRefs(d, rows)
	return rows, err
}

func (mysql) indexes(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `SELECT '' AS table_schema, TABLE_NAME AS table_name, INDEX_NAME AS index_name,
  INDEX_NAME = 'PRIMARY' AS is_primary, NON_UNIQUE = 0 AS is_unique, COLUMN_NAME AS column_name
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_TYPE = 'BTREE'
ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX`)
}

func (mysql) checks(ctx context.Context, q Query) ([]map[string]any, error) {
	version, err := q(ctx, `SELECT VERSION() AS version`)
	if err != nil {
		return nil, err
	}
	if len(version) == 1 && strings.Contains(str(version[0], "version"), "MariaDB") {
		return q(ctx, `SELECT '' AS table_schema, TABLE_NAME AS table_name, CHECK_CLAUSE AS clause
FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY TABLE_NAME, CONSTRAINT_NAME`)
	}
	rows, err := q(ctx, `SELECT '' AS table_schema, t.TABLE_NAME AS table_name, c.CHECK_CLAUSE AS clause
FROM information_schema.TABLE_CONSTRAINTS t JOIN information_schema.CHECK_CONSTRAINTS c
  ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME
WHERE t.CONSTRAINT_SCHEMA = DATABASE() AND t.CONSTRAINT_TYPE = 'CHECK' ORDER BY t.TABLE_NAME, c.CONSTRAINT_NAME`)
	for _, row := range rows { // MySQL 8 prints texts as _utf8mb4\'a\'
		row["clause"] = strings.ReplaceAll(str(row, "clause"), `\'`, `'`)
	}
	return rows, err
}

// mysqlKinds are the kinds of the types of MySQL and MariaDB. A type that is not listed is text, such as set and inet6.
var mysqlKinds = map[string]kind{
	"tinyint": integer, "smallint": integer, "mediumint": integer, "int": integer, "bigint": integer, "year": integer,
	"float": number, "double": number, "decimal": decimal, "bit": integer,
	"date": date, "datetime": local, "timestamp": local, "time": clock, "uuid": uuid,
	"char": text, "varchar": text, "tinytext": text, "text": text, "mediumtext": text, "longtext": text, "enum": text,
	"json": document, "binary": binary, "varbinary": binary, "tinyblob": binary, "blob": binary, "mediumblob": binary,
	"longblob": binary, "geometry": binary, "point": binary, "linestring": binary, "polygon": binary,
	"multipoint": binary, "multilinestring": binary, "multipolygon": binary,
	"geometrycollection": binary, "vector": binary,
}

// enumValue matches one value of a type enum('a','b').
var enumValue = lazyregexp.New(`'(?:[^']|'')*'`)

// mysqlEscapes are the escapes in the type of an enumeration.
var mysqlEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\0`, "\x00")

func (mysql) classify(row map[string]any, c *column) {
	base := strings.ToLower(str(row, "base_type"))
	var known bool
	if c.kind, known = mysqlKinds[base]; !known {
		c.kind, c.notation = text, "type "+base
	}
	switch {
	case c.kind == binary:
		c.refusal = "and tools have no bytes"
	case base == "bigint":
		c.large = true
	case base == "bit" && lengthOf(c.typ) > 63:
		c.kind, c.refusal = binary, "whose values may be larger than an integer"
	case base == "bit":
		c.large = true
	case base == "float": // a number that is not rounded as the column is would equal none of its values
		c.compare = "CAST(%s AS FLOAT)"
	case base == "decimal": // a text would be compared as a floating-point number
		c.compare = castToDecimal(c.typ)
	case base == "char" || base == "varchar":
		c.maxLength = lengthOf(c.typ)
	case base == "set":
		var parts []string
		for _, v := range enumValue.FindAllString(str(row, "data_type"), -1) {
			parts = append(parts, mysqlEscapes.Replace(unquote(v)))
		}
		c.notation = plain("any of " + strings.Join(parts, ", ") + ", with a comma between two")
	case base == "enum":
		for _, v := range enumValue.FindAllString(str(row, "data_type"), -1) {
			c.values = append(c.values, mysqlEscapes.Replace(unquote(v)))
		}
	}
}

// decimalSize matches the number of digits of a type decimal(10,2), and of those after the point.
var decimalSize = lazyregexp.New(`\(([0-9]+),([0-9]+)\)`)

// castToDecimal returns the cast to a decimal that has the digits of a type before the point, and after it as many as
// can be.
func castToDecimal(typ string) string {
	const most, mostAfter = 65, 30
	before := most - mostAfter
	if size := decimalSize.FindStringSubmatch(typ); size != nil {
		digits, _ := strconv.Atoi(size[1])
		after, _ := strconv.Atoi(size[2])
		before = digits - after
	}
	return fmt.Sprintf("CAST(%%s AS DECIMAL(%d,%d))", most, min(mostAfter, most-before))
}

func (mysql) quote(name string) string {
	return quoteIfNeeded(name, "`")
}

// addRefs adds table_ref and column_ref to rows.
func addRefs(d dialect, rows []map[string]any) {
	for _, row := range rows {
		row["table_ref"], row["column_ref"] = d.quote(str(row, "table_name")), d.quote(str(row, "column_name"))
	}
}

var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// quoteIfNeeded quotes a name unless it is a plain name and no keyword.
func quoteIfNeeded(name, mark string) string {
	if plainName.MatchString(name) && !strings.Contains(keywords, " "+strings.ToLower(name)+" ") {
		return name
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// keywords are the words that SQLite, MySQL or MariaDB may not accept as names.
const keywords = " " +
	"abort accessible action add after all alter always analyze and as asc asensitive attach autoincrement " +
	"before begin between bigint binary blob both by call cascade case change char character check collate " +
	"column commit condition conflict constraint continue convert create cross cube cume_dist current " +
	"current_date current_role current_time current_timestamp current_user cursor database databases day_hour " +
	"day_microsecond day_minute day_second dec decimal declare default deferrable deferred delayed delete " +
	"delete_domain_id dense_rank desc describe detach deterministic distinct distinctrow div do do_domain_ids " +
	"double drop dual each else elseif empty enclosed end escape escaped except exclude exclusive exists exit " +
	"explain fail false fetch filter first first_value float float4 float8 following for force foreign from " +
	"full fulltext function general generated get glob grant group grouping groups having high_priority " +
	"hour_microsecond hour_minute hour_second if ignore ignore_domain_ids ignore_server_ids immediate in index " +
	"indexed infile initially inner inout insensitive insert instead int int1 int2 int3 int4 int8 integer " +
	"intersect interval into io_after_gtids io_before_gtids is isnull iterate join json_table key keys kill " +
	"lag last last_value lateral lead leading leave left library like limit linear lines load localtime " +
	"localtimestamp lock long longblob longtext loop low_priority manual master_bind master_heartbeat_period " +
	"master_ssl_verify_server_cert match materialized maxvalue mediumblob mediumint mediumtext middleint " +
	"minute_microsecond minute_second mod modifies natural no no_write_to_binlog not nothing notnull nth_value " +
	"ntile null nulls numeric of offset on optimize optimizer_costs option optionally or order others out " +
	"outer outfile over page_checksum parallel parse_vcol_expr partition percent_rank plan portion position " +
	"pragma preceding precision primary procedure purge qualify query raise range rank read read_write reads " +
	"real recursive ref_system_id references regexp reindex release rename repeat replace require resignal " +
	"restrict return returning revoke right rlike rollback row row_number rows savepoint schema schemas " +
	"second_microsecond select sensitive separator set show signal slow smallint spatial specific sql " +
	"sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning ssl starting " +
	"stats_auto_recalc stats_persistent stats_sample_pages stored straight_join system table tablesample temp " +
	"temporary terminated then ties tinyblob tinyint tinytext to trailing transaction trigger true unbounded " +
	"undo union unique unlock unsigned update usage use using utc_date utc_time utc_timestamp vacuum values " +
	"varbinary varchar varcharacter varying view virtual when where while window with within without write xor " +
	"year_month zerofill "
