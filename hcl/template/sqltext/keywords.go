package sqltext

import "hatchel/hcl/template"

var (
	// Keywords that a value can follow.
	beforeValue = template.WordSet(`SELECT WHERE AND OR NOT ON HAVING WHEN THEN ELSE CASE BETWEEN SYMMETRIC
		ASYMMETRIC LIKE ILIKE GLOB REGEXP RLIKE MATCH TO IS DISTINCT LIMIT OFFSET FIRST NEXT RETURNING ESCAPE FOR DIV
		MOD XOR BINARY ZONE ROWS RANGE GROUPS LEADING TRAILING BOTH PLACING OF RETURN DO ISNULL NOTNULL WAIT`)

	// Keywords that only a name can follow.
	beforeName = template.WordSet(`FROM JOIN INTO UPDATE TABLE AS COLLATE CONSTRAINT INDEX VIEW SCHEMA COLUMN
		DATABASE SEQUENCE TRIGGER FUNCTION PROCEDURE ROLE USER REFERENCES ONLY LATERAL SET USING WINDOW RENAME ADD
		DROP ALTER EXISTS OVER CHARSET CHARACTER INDEXED TRUNCATE DESCRIBE DESC ANALYZE VACUUM PRAGMA TYPE EXTENSION
		SAVEPOINT RELEASE GRANT REVOKE`)

	// Keywords after a plain value in ORDER BY, which sorts by a constant.
	afterSort = template.WordSet(`ASC DESC NULLS LIMIT OFFSET FETCH FOR HAVING WINDOW UNION EXCEPT INTERSECT ROWS
		RANGE GROUPS ORDER WITH`)

	// Keywords that end the table name in INSERT INTO.
	afterTable = template.WordSet(`VALUES VALUE SELECT DEFAULT SET OVERRIDING WITH TABLE PARTITION FROM WHERE ON`)

	// Functions whose arguments are separated by keywords.
	keywordCalls = template.WordSet(`EXTRACT SUBSTRING SUBSTR TRIM OVERLAY POSITION MID`)

	// Keywords of an INSERT from its columns to the last VALUES that fills them.
	betweenColumnsAndRows = template.WordSet(`VALUES VALUE OVERRIDING SYSTEM USER UNION EXCEPT INTERSECT ALL`)

	// The main keyword of a statement that begins with WITH.
	mainVerbs = template.WordSet(`SELECT INSERT UPDATE DELETE MERGE REPLACE VALUES TABLE`)

	// Statements that return rows.
	rowVerbs = template.WordSet(`SELECT VALUES TABLE SHOW EXPLAIN DESCRIBE DESC PRAGMA FETCH ANALYZE CALL CHECK
		CHECKSUM`)

	// Separators that an %{if} in a loop can contain.
	separators = template.WordSet(`, AND OR UNION || +`)
)

// pairs are keywords that form one keyword together.
var pairs = map[[2]string]string{
	{"IS", "NOT"}: "IS NOT", {"NOT", "IN"}: "NOT IN", {"KEY", "UPDATE"}: "KEY UPDATE",
	{"IS", "DISTINCT"}: "IS DISTINCT", {"IS NOT", "DISTINCT"}: "IS DISTINCT",
	{"IS DISTINCT", "FROM"}: "IS DISTINCT FROM", {"DISTINCT", "ON"}: "DISTINCT ON",
	{"ORDER", "BY"}: "ORDER BY", {"GROUP", "BY"}: "ORDER BY", {"PARTITION", "BY"}: "ORDER BY",
	{"SIMILAR", "TO"}: "LIKE", {"SOUNDS", "LIKE"}: "LIKE",
}

// clauses are the lists that begin after a keyword.
var clauses = map[string]byte{
	"FROM": tables, "INTO": tables, "UPDATE": tables, "JOIN": tables, "SET": sets, "KEY UPDATE": sets,
	"ORDER BY": sorting, "SELECT": values, "WHERE": values, "ON": values, "DISTINCT ON": values, "HAVING": values,
	"LIMIT": values, "OFFSET": values, "VALUES": values, "RETURNING": values, "WHEN": values, "UNION": values,
	"EXCEPT": values, "INTERSECT": values, "ROWS": values, "RANGE": values, "GROUPS": values,
}
