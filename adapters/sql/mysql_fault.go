package sql

import (
	"errors"
	"regexp"

	"github.com/go-sql-driver/mysql"

	"hatchel/adapters"
)

const unknownVariable = 1193

var (
	duplicateKey = regexp.MustCompile(`for key '([^']*)'$`)
	inQuotes     = regexp.MustCompile("['`]([^'`]*)['`]")
)

func (m *mariaDB) fault(err error, asked bool) *adapters.Fault {
	var lost *commitLost
	if errors.As(err, &lost) {
		return faultOf(err, saidUnknown)
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return faultOf(err, saidLost)
	}
	name := ""
	if found := inQuotes.FindStringSubmatch(e.Message); found != nil {
		name = found[1]
	}
	switch e.Number {
	case 1062, 1586:
		name = ""
		if found := duplicateKey.FindStringSubmatch(e.Message); found != nil {
			name = found[1]
		}
		return faultOf(err, uniqueSentence(name))
	case 1048, 1364:
		return faultOf(err, missingSentence(name))
	case 1216, 1217, 1451, 1452:
		return faultOf(err, saidForeign)
	case 3819, 4025:
		return faultOf(err, checkSentence(name))
	case 1264, 1690:
		return faultOf(err, "a number is larger or smaller than its column takes; nothing was changed")
	case 1406:
		return faultOf(err, "a text is longer than its column takes; nothing was changed")
	case 1265, 1292, 1366, 1411, 1525:
		return faultOf(err, "a value does not read as the type that the database needs there; nothing was changed")
	case 1365:
		return faultOf(err, "the statement divides by zero for these values")
	case 1792, 1290, 1836:
		return faultOf(err, saidReadOnly)
	case 1213:
		return faultOf(err, saidDeadlock)
	case 1205, 3572, 1020:
		return faultOf(err, saidBusy)
	case 1969, 3024, 1317:
		return faultOf(err, saidTimeout)
	case 1044, 1142, 1143, 1227, 1370, 1419:
		return faultOf(err, saidForbidden)
	case 1021, 1114:
		return faultOf(err, saidFull)
	case 1153, 1301:
		return faultOf(err, saidTooLarge)
	case 1644:
		return faultOf(err, "the database refuses it: "+clip(e.Message))
	case 1054, 1064, 1109, 1146, 1052, 1055, 1056, 1060, 1066, 1110, 1111, 1136, 1149, 1210, 1222, 1241, 1242, 1247, 1305, 1318, 1327, 1582:
		return mistake(err, e.Message, asked)
	case 1053, 1077, 1152, 1184, 2006, 2013:
		return faultOf(err, saidLost)
	}
	return faultOf(err, saidRefused)
}

func (m *mariaDB) reason(err error) string {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return "the connection was lost"
	}
	return e.Message
}
