package sql

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"hatchel/internal/ctxtime"
)

// A server can ignore a KILL that arrives after a statement was sent and before it begins. So each
// statement also has a time limit on the server, and KILL is repeated until the connection is gone.
const (
	maxKillWait      = 10 * time.Second // how long a call waits for the first KILL
	maxKillTime      = 30 * time.Second // how long KILL is repeated
	maxKillPause     = time.Second
	timeLimitMargin  = time.Second // lets the call end first and report its own error
	initialKillPause = 5 * time.Millisecond
)

// setTimeLimit limits how long the server runs a statement: until the call ends, and no longer than the
// timeout of the connection. The remaining time is rounded up to seconds, so that the limit rarely
// changes. MariaDB and MySQL use different variables; MySQL applies the limit to queries only.
func (c *mysqlConn) setTimeLimit(ctx context.Context) error {
	limit := c.database.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		seconds := math.Ceil(max(0, time.Until(deadline)).Seconds())
		left := time.Duration(seconds)*time.Second + timeLimitMargin
		if limit == 0 || left < limit {
			limit = left
		}
	}
	if limit == c.limit {
		return nil
	}
	err := c.exec(ctx, "SET max_statement_time = "+strconv.FormatFloat(limit.Seconds(), 'f', 3, 64))
	if e := new(mysql.MySQLError); errors.As(err, &e) && e.Number == unknownSystemVariable {
		err = c.exec(ctx, "SET max_execution_time = "+strconv.FormatInt(limit.Milliseconds(), 10))
	}
	if err == nil {
		c.limit = limit
	}
	return err
}

// kill ends a connection on the server together with its statement. It returns once the server has
// accepted a KILL, or after maxKillWait. The KILL is repeated in the background.
func (m *mysqlDatabase) kill(ctx context.Context, id int64) {
	accepted, accept := context.WithTimeout(context.WithoutCancel(ctx), maxKillWait)
	defer accept()
	m.kills.Go(func() {
		defer accept()
		m.killLoop(id, accept)
	})
	<-accepted.Done()
}

// killLoop repeats KILL until the connection is gone or maxKillTime is over, and calls accepted after
// every KILL that the server accepts.
func (m *mysqlDatabase) killLoop(id int64, accepted func()) {
	ctx, cancel := context.WithTimeout(m.readiness.ctx, maxKillTime)
	defer cancel()
	var c *mysqlConn // nil while the server cannot be reached
	defer func() {
		if c != nil {
			_ = c.close()
		}
	}()
	for pause := initialKillPause; ; pause = min(2*pause, maxKillPause) {
		if c == nil {
			if raw, err := m.connector.Connect(ctx); err == nil {
				c = &mysqlConn{raw: raw.(mysqlDriverConn)}
			}
		}
		if c != nil {
			err := c.exec(ctx, "KILL "+strconv.FormatInt(id, 10))
			switch e := new(mysql.MySQLError); {
			case errors.As(err, &e):
				return // the connection is gone, or the server does not permit the KILL
			case err != nil:
				_ = c.close()
				c = nil
			default:
				accepted()
			}
		}
		if ctxtime.Sleep(ctx, pause) != nil {
			return
		}
	}
}
