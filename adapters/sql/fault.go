package sql

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// Messages for the model. In some of them, % is the name of a key, a column, a constraint or a table. A message that
// ends with a colon is followed by what the engine reports. No message has a value of a row, which may be of another
// one.
const (
	msgReadOnly       = "the statement would write, but this tool only reads"
	msgReadOnlyServer = "the database server takes no changes at present"

	msgBusy        = "the database is busy with another change"
	msgDeadlock    = "the change conflicted with another one and was rolled back"
	msgTimeout     = "the statement exceeded the time limit of the database; request less data at a time"
	msgFull        = "the database has no space left"
	msgTooLarge    = "a value is larger than the database accepts"
	msgRowTooLarge = "one row of the result is larger than the limit of 32 MiB; request less of it"
	msgForbidden   = "the database account that the server uses lacks the permission for this"
	msgRejected    = "the database rejected the statement"
	msgRaised      = "the database rejected it: "
	msgNumberRange = "a number is out of range for its column"
	msgTextLength  = "a string is longer than its column allows"
	msgCharacter   = "a string has a character that the database cannot store"
	msgDivision    = "the statement divides by zero for these values"
	msgUnique      = "a row with the same % already exists"
	msgNotNull     = "% must not be null"
	msgCheck       = "a value violates the constraint % of the database"
	msgExclusion   = "a row that conflicts with the new one in % already exists"
	msgMissing     = "the values refer to a row of % that does not exist"
	msgReferenced  = "rows of % refer to the row"
	msgViewCheck   = "the row violates the condition of the view %"
	msgPolicy      = "the row violates a row-level security policy of %"
	msgStatement   = "the statement was rejected: "
	msgExhausted   = "the database has reached a limit on its use"
	msgLost        = "the connection to the database was lost"

	msgCommitUnknown = "the connection to the database was lost during the commit"
	msgForeignKey    = "the values refer to a row that does not exist, or other rows refer to the row"
	msgToolMistake   = "the statement of this tool does not match the database; this is a mistake in the tool's " +
		"definition, not in the arguments"
)

// advice is what to do after failures that may pass, if the call has changed nothing.
var advice = map[string]string{
	msgBusy: "try again", msgDeadlock: "try again", msgLost: "try again", msgExhausted: "try again later",
	msgReadOnlyServer: "try again later",
}

// unnamed are the messages to use instead of those with a name if the name is not safe.
var unnamed = map[string]string{
	msgUnique:  "such a row already exists",
	msgNotNull: "a required value is null",
	msgCheck:   "a value violates a constraint of the database",

	msgExclusion: "a row that conflicts with the new one already exists",
	msgMissing:   msgForeignKey, msgReferenced: msgForeignKey,
	msgViewCheck: "the row violates the condition of a view",
	msgPolicy:    "the row violates a row-level security policy",
}

// maxSafeName is how many characters a safe name may have. A pattern with that number would take 9 ms to
// compile at each start.
const maxSafeName = 200

var safeName = lazyregexp.New(`^[\pL\pN_$.,"\x60 ()-]+$`)

// isSafeName reports whether a text can be shown as the name of a table, a column or a constraint. Other
// texts could hold the definition of a rule, or data.
func isSafeName(s string) bool {
	return utf8.RuneCountInString(s) <= maxSafeName && safeName.MatchString(s)
}

// toFault converts an error of an engine. It quotes a mistake in a statement only to the caller who wrote
// the statement.
func toFault(err error, dialect sqltext.Dialect, byCaller bool) *adapters.Fault {
	var row *pgproto3.ExceededMaxBodyLenErr
	var interrupted *interruptedError
	r, known := readReport(err)
	message := r.message
	switch {
	case errors.Is(err, errCommitLost):
		message = msgCommitUnknown
	case errors.As(err, &row):
		message = msgRowTooLarge
	case errors.As(err, &interrupted) && interrupted.standby:
		message = msgReadOnlyServer
	case !known && dialect != sqltext.SQLite:
		message = msgLost
	case message == "":
		message = msgRejected
	case message == msgStatement && !byCaller:
		message = msgToolMistake
	}
	f := &adapters.Fault{Advice: advice[message], Cause: err}
	if message == msgReadOnly {
		f.Change = adapters.ChangeUndone
	}
	switch message {
	case msgToolMistake:
		f.Hint = quoteEngine(authorMessage(err, dialect))
	case sqliteNotInteger:
		f.Hint = "Declare the value as an integer, or write CAST(${…} AS INTEGER)"
	}
	if r.violated != nil {
		f.Constraint = r.safeConstraint()
	}
	if otherwise, ok := unnamed[message]; ok && !isSafeName(r.name) {
		message = otherwise
	} else if ok {
		message = strings.Replace(message, "%", r.name, 1)
	}
	plain := message
	if strings.HasSuffix(message, ": ") {
		plain = strings.TrimSuffix(message, ": ") + " (" + r.code + ")"
		message += quoteEngine(r.text)
		if message = strings.TrimSuffix(message, "."); r.hint != "" {
			message += ": " + quoteEngine(r.hint)
		}
	}
	if f.Constraint != nil {
		where := r.where(f.Constraint)
		message, plain = message+where, plain+where
	}
	if f.Message = message; r.quotes {
		f.Unquoted = &adapters.Unquoted{Message: plain, Cause: r.code}
	}
	return f
}

// safeConstraint returns the violated constraint with those of its names that can be shown.
func (r *report) safeConstraint() *adapters.Constraint {
	c := *r.violated
	for _, name := range []*string{&c.Name, &c.Table} {
		if !isSafeName(*name) {
			*name = ""
		}
	}
	if slices.ContainsFunc(c.Columns, func(name string) bool { return !isSafeName(name) }) {
		c.Columns = nil
	}
	return &c
}

// where returns the names of a constraint, its table and the columns of a foreign key that the message does not have.
func (r *report) where(c *adapters.Constraint) string {
	var names []string
	if c.Name != "" && c.Name != r.name && r.name != "key "+c.Name && r.name != mysqlPrimaryKey {
		names = append(names, "constraint "+c.Name)
	}
	if c.Table != "" && c.Table != r.name && !strings.HasPrefix(r.name, c.Table+".") {
		names = append(names, "table "+c.Table)
	}
	if r.message == msgMissing && c.Columns != nil {
		names = append(names, "key ("+strings.Join(c.Columns, ", ")+")")
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// authorMessage returns what an engine reports about a mistake in a statement.
func authorMessage(err error, dialect sqltext.Dialect) string {
	r, known := readReport(err)
	switch {
	case r.message == msgReadOnly:
		return msgReadOnly
	case known && r.hint != "":
		return r.text + " (" + r.hint + ")"
	case known:
		return r.text
	case dialect == sqltext.SQLite:
		return err.Error()
	}
	return "the connection was lost"
}

// quoteEngine returns a message of the database on one line and limits its length.
func quoteEngine(message string) string {
	return cut.Runes(adapters.Sanitize(message, nil), 300)
}

// report is what an engine reports about a failed statement.
type report struct {
	message string // for the model; empty if the code of the error has none
	name    string // of the violated key, column or constraint
	text    string // what the engine says
	hint    string // what the engine suggests
	code    string // of the error
	quotes  bool   // the text may quote values of rows

	violated *adapters.Constraint // nil if the change violates none
}

// isMistake reports whether the engine refuses a statement for what it says, not for its own state.
func (r *report) isMistake() bool {
	switch r.message {
	case msgStatement, msgForbidden, msgReadOnly, postgresWrongType, mysqlWrongType, sqliteWrongType, sqliteNotInteger,
		msgNumberRange, msgTextLength, msgCharacter, msgDivision:
		return true
	}
	return false
}

// readReport returns the report of an engine, if the error is one.
func readReport(err error) (r report, ok bool) {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	switch {
	case errors.As(err, &postgres):
		return readPostgresReport(postgres), true
	case errors.As(err, &maria):
		return readMySQLReport(maria), true
	}
	if result := sqliteResultOf(err); result != 0 {
		return readSQLiteReport(result, err.Error()), true
	}
	return r, false
}

// postgresMessages are the messages for SQLSTATE codes, and for their classes of two characters.
var postgresMessages = map[string]string{
	"23505": msgUnique, "23P01": msgExclusion, "23502": msgNotNull, "23514": msgCheck, "44000": msgViewCheck,
	"23503": msgForeignKey, "23001": msgForeignKey,
	"22003": msgNumberRange, "22001": msgTextLength, "22021": msgCharacter, "22P05": msgCharacter, "22012": msgDivision,
	"22P02": postgresWrongType, "22007": postgresWrongType, "22008": postgresWrongType, "22023": postgresWrongType,
	"25006": msgReadOnly, "42501": msgForbidden, "P0001": msgRaised, "P0004": msgRaised,
	"40P01": msgDeadlock, "40001": msgDeadlock, "55P03": msgBusy, "57014": msgTimeout, "25P03": msgTimeout,
	"53100": msgFull, "54000": msgTooLarge, "53400": msgTooLarge,
	"57": msgLost, "08": msgLost, "53": msgLost,
	"42": msgStatement, "0A": msgStatement, "22": msgStatement, "21": msgStatement,
}

const postgresWrongType = "a value does not have the type that the database requires: "

var (
	// detailKey finds the columns of a key in "Key (a, b)=(1, 2) already exists." of any language. What follows the
	// first parenthesis of another detail may be data.
	detailKey = lazyregexp.New(`^[^(]*\(([^=]*)\)=\(`)
	// detailTable finds the table of a foreign key at the end of a detail.
	detailTable = lazyregexp.New(`table "([^"]*)"\.$`)
	// messageName finds the last name in a message.
	messageName = lazyregexp.New(`"([^"]*)"[^"]*$`)
)

// raiseRoutine is the routine that reports an error which a function of the database raises.
const raiseRoutine = "exec_stmt_raise"

// firstMatch returns the first group of a pattern in a text, or "".
func firstMatch(pattern *lazyregexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// namingClasses are the classes of SQLSTATE codes whose texts have names, and no values of rows. All others may quote
// values, as those of casts do, and those that functions raise.
var namingClasses = []string{"08", "25", "28", "40", "42", "53", "55", "57", "70", "0A"}

func readPostgresReport(e *pgconn.PgError) report {
	class := e.Code[:min(2, len(e.Code))]
	r := report{
		message: cmp.Or(postgresMessages[e.Code], postgresMessages[class]),
		text:    e.Message, hint: e.Hint, code: "SQLSTATE " + e.Code,
		quotes: !slices.Contains(namingClasses, class) || e.Routine == raiseRoutine,
	}
	key := ""
	switch r.message {
	case msgUnique, msgExclusion, msgForeignKey:
		key = firstMatch(detailKey, e.Detail)
	}
	r.name = cmp.Or(key, e.ColumnName, e.ConstraintName, e.DataTypeName)
	if e.Routine == raiseRoutine && advice[r.message] == "" {
		r.message = msgRaised
	}
	switch {
	case e.Code == "42501" && strings.Contains(e.Message, "row-level security policy"):
		r.message, r.name = msgPolicy, firstMatch(messageName, e.Message)
	case r.message == msgViewCheck:
		r.name = firstMatch(messageName, e.Message)
	case r.message != msgForeignKey:
	case strings.HasPrefix(e.Message, "insert or update on table "):
		r.message, r.name = msgMissing, firstMatch(detailTable, e.Detail)
	case strings.HasPrefix(e.Message, "update or delete on table "):
		r.message, r.name = msgReferenced, firstMatch(messageName, e.Message)
	}
	if strings.HasPrefix(e.Code, "23") {
		r.violated = &adapters.Constraint{Name: e.ConstraintName, Table: e.TableName}
		if columns := cmp.Or(key, e.ColumnName); columns != "" {
			r.violated.Columns = strings.Split(columns, ", ")
		}
	}
	return r
}

// serverOption is the code for what an option of the server forbids, such as --read-only or --secure-file-priv.
const serverOption = 1290

// mixedCollations is the code of a comparison of texts with different collations, such as a column and a variable.
const mixedCollations = 1267

var (
	collation = lazyregexp.New(`\((\w+),IMPLICIT\)`)
	// variableCollations are those that a variable of session has: the ones that servers choose for utf8mb4.
	variableCollations = []string{"utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "utf8mb4_uca1400_ai_ci"}
)

// collationHint says what to write after a variable that is compared with a column of another collation.
func collationHint(message string) string {
	for _, found := range collation.FindAllStringSubmatch(message, -1) {
		if !slices.Contains(variableCollations, found[1]) {
			return "a variable is compared with COLLATE and the collation of the column: @tenant COLLATE " + found[1]
		}
	}
	return "a variable is compared with COLLATE and the collation of the column"
}

var mysqlMessages = map[uint16]string{
	1062: msgUnique, 1586: msgUnique, 1048: msgNotNull, 1364: msgNotNull, 3819: msgCheck, 4025: msgCheck,
	1216: msgForeignKey, 1217: msgForeignKey, 1451: msgReferenced, 1452: msgMissing,
	1264: msgNumberRange, 1690: msgNumberRange, 1406: msgTextLength, 1365: msgDivision, 1644: msgRaised,
	1265: mysqlWrongType, 1292: mysqlWrongType, 1366: mysqlWrongType, 1411: mysqlWrongType, 1525: mysqlWrongType,
	1792: msgReadOnly, serverOption: msgReadOnlyServer, 1836: msgReadOnlyServer,
	1213: msgDeadlock, 1205: msgBusy, 3572: msgBusy, 1020: msgBusy,
	1969: msgTimeout, 3024: msgTimeout, 1317: msgTimeout,
	1044: msgForbidden, 1142: msgForbidden, 1143: msgForbidden, 1227: msgForbidden, 1370: msgForbidden,
	1419: msgForbidden, 1021: msgFull, 1114: msgFull, 1153: msgTooLarge, 1301: msgTooLarge,
	1203: msgExhausted, 1226: msgExhausted, 1461: msgExhausted,
	1053: msgLost, 1077: msgLost, 1152: msgLost, 1184: msgLost, 1927: msgLost, 2006: msgLost, 2013: msgLost,
	4031: msgLost,
	1111: msgStatement, 1210: msgStatement, 1906: msgStatement, 3105: msgStatement, // the last two: a generated column
}

const (
	mysqlWrongType  = "a value does not have the type that the database requires"
	mysqlPrimaryKey = "primary key" // which has the name PRIMARY in every table
)

var (
	duplicateKey  = lazyregexp.New(`for key '([^']*)'$`) // what precedes it is data
	nameInMessage = lazyregexp.New("['`]([^'`]*)['`]")
	// foreignKey finds the table, the constraint, its columns and the table that it refers to.
	foreignKey = lazyregexp.New("\\(`[^`]*`\\.`([^`]*)`, CONSTRAINT `([^`]*)` FOREIGN KEY \\(([^)]*)\\) " +
		"REFERENCES (?:`[^`]*`\\.)?`([^`]*)`")
	// failedCheck finds the constraint and its table, or the table and the column if the column has the constraint.
	failedCheck = lazyregexp.New("^CONSTRAINT `([^`]*)` failed for `[^`]*`\\.`([^`]*)`")
)

func readMySQLReport(e *mysql.MySQLError) report {
	class := string(e.SQLState[:2])
	r := report{message: mysqlMessages[e.Number], text: e.Message,
		code: fmt.Sprintf("error %d, SQLSTATE %s", e.Number, e.SQLState[:])}
	if r.message == "" && (class == "42" || class == "21") {
		r.message = msgStatement
	}
	r.quotes = !slices.Contains(namingClasses, class) && advice[r.message] == ""
	if e.Number == serverOption && !strings.Contains(e.Message, "read-only") {
		r.message = msgForbidden
	}
	if e.Number == mixedCollations {
		r.message, r.hint = msgStatement, collationHint(e.Message)
	}
	r.name = firstMatch(nameInMessage, e.Message)
	switch r.message {
	case msgUnique:
		r.name = firstMatch(duplicateKey, e.Message)
		r.violated = &adapters.Constraint{Name: r.name}
		if table, key, ok := strings.Cut(r.name, "."); ok { // MySQL
			r.violated.Name, r.violated.Table, r.name = key, table, key
		}
		if r.name == "PRIMARY" {
			r.name = mysqlPrimaryKey
		}
	case msgNotNull:
		r.violated = &adapters.Constraint{Columns: []string{r.name}}
	case msgCheck:
		r.violated = &adapters.Constraint{Name: r.name}
		if found := failedCheck.FindStringSubmatch(e.Message); found != nil {
			r.violated.Table = found[2]
		}
		if column, ok := strings.CutPrefix(r.name, r.violated.Table+"."); ok {
			r.violated.Columns = []string{column}
		}
	case msgMissing, msgReferenced:
		r.name = ""
		if found := foreignKey.FindStringSubmatch(e.Message); found != nil {
			columns := strings.Split(strings.ReplaceAll(found[3], "`", ""), ", ")
			r.violated = &adapters.Constraint{Name: found[2], Table: found[1], Columns: columns}
			if r.name = found[4]; r.message == msgReferenced {
				r.name = found[1]
			}
		}
	case msgForeignKey:
		r.violated = &adapters.Constraint{}
	}
	return r
}
