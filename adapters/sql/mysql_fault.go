package sql

import (
	"errors"
	"regexp"

	"github.com/go-sql-driver/mysql"

	"hatchel/adapters"
)

const unknownSystemVariable = 1193

var (
	duplicateKey  = regexp.MustCompile(`for key '([^']*)'$`)
	nameInMessage = regexp.MustCompile("['`]([^'`]*)['`]")
)

// mysqlMessages are the messages for error numbers that need no details of the error.
var mysqlMessages = map[uint16]string{
	1216: msgForeignKey, 1217: msgForeignKey, 1451: msgForeignKey, 1452: msgForeignKey,
	1264: msgNumberRange, 1690: msgNumberRange,
	1406: msgTextLength,
	1265: mysqlWrongType, 1292: mysqlWrongType, 1366: mysqlWrongType, 1411: mysqlWrongType, 1525: mysqlWrongType,
	1365: msgDivision,
	1792: msgReadOnly, 1290: msgReadOnly, 1836: msgReadOnly,
	1213: msgDeadlock,
	1205: msgBusy, 3572: msgBusy, 1020: msgBusy,
	1969: msgTimeout, 3024: msgTimeout, 1317: msgTimeout,
	1044: msgForbidden, 1142: msgForbidden, 1143: msgForbidden, 1227: msgForbidden, 1370: msgForbidden,
	1419: msgForbidden,
	1021: msgFull, 1114: msgFull,
	1153: msgTooLarge, 1301: msgTooLarge,
	1053: msgLost, 1077: msgLost, 1152: msgLost, 1184: msgLost, 2006: msgLost, 2013: msgLost,
}

const mysqlWrongType = "a value does not have the type that the database requires; nothing was changed"

func (m *mysqlDatabase) toFault(err error, byCaller bool) *adapters.Fault {
	var commit *commitLostError
	var e *mysql.MySQLError
	switch {
	case errors.As(err, &commit):
		return newFault(err, msgCommitUnknown)
	case !errors.As(err, &e):
		return newFault(err, msgLost)
	}
	if message, ok := mysqlMessages[e.Number]; ok {
		return newFault(err, message)
	}
	switch e.Number {
	case 1062, 1586:
		return newFault(err, uniqueMessage(firstGroup(duplicateKey, e.Message)))
	case 1048, 1364:
		return newFault(err, notNullMessage(firstGroup(nameInMessage, e.Message)))
	case 3819, 4025:
		return newFault(err, checkMessage(firstGroup(nameInMessage, e.Message)))
	case 1644:
		return newFault(err, "the database rejected it: "+quoteEngine(e.Message))
	case 1054, 1064, 1109, 1146, 1052, 1055, 1056, 1060, 1066, 1110, 1111, 1136, 1149, 1210, 1222, 1241,
		1242, 1247, 1305, 1318, 1327, 1582:
		return statementFault(err, e.Message, byCaller)
	}
	return newFault(err, msgRejected)
}

func firstGroup(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

func (m *mysqlDatabase) authorMessage(err error) string {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return lostForAuthor
	}
	return e.Message
}
