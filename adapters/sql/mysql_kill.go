package sql

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A server can lose a KILL that comes between what it was sent and its beginning. So each statement has an end of its own, a little after that of its call, and a
// connection is killed until the server does not know it any more.
const (
	killTime = 10 * time.Second // that a call waits for the first KILL
	hunt     = 30 * time.Second // for which it is tried, and told again
	grace    = time.Second      // the call ends first, and says so itself
)

// bound sets how long the server lets a statement run: until the call has ended, and never longer than the connection says. MariaDB and MySQL, where it
// holds for queries, say it differently. The seconds that are left are rounded up, so that most calls find their bound set.
func (c *myConn) bound(ctx context.Context) error {
	limit := c.most
	if end, ok := ctx.Deadline(); ok {
		left := time.Duration(math.Ceil(max(0, time.Until(end)).Seconds()))*time.Second + grace
		if limit == 0 || left < limit {
			limit = left
		}
	}
	if limit == c.limit {
		return nil
	}
	err := c.command(ctx, "SET max_statement_time = "+strconv.FormatFloat(limit.Seconds(), 'f', 3, 64))
	if e := new(mysql.MySQLError); errors.As(err, &e) && e.Number == unknownVariable {
		err = c.command(ctx, "SET max_execution_time = "+strconv.FormatInt(limit.Milliseconds(), 10))
	}
	if err == nil {
		c.limit = limit
	}
	return err
}

// kill ends a connection at the server with what it runs. It returns when the server has been told once, or cannot be told for a while; should the server go on, it is told again meanwhile.
func (m *mariaDB) kill(ctx context.Context, thread int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	told, tell := context.WithCancel(ctx)
	m.hunts.Go(func() {
		defer tell()
		m.hunt(thread, tell)
	})
	<-told.Done()
}

// hunt kills the connection until it is gone, and calls told when the server has heard of it. What is long in undoing its work is left to it.
func (m *mariaDB) hunt(thread int64, told func()) {
	ctx, cancel := context.WithTimeout(m.gate.ctx, hunt)
	defer cancel()
	var c *myConn // nil while the server cannot be reached
	defer func() {
		if c != nil {
			_ = c.close()
		}
	}()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if c == nil {
			if raw, err := m.connector.Connect(ctx); err == nil {
				c = &myConn{raw: raw.(mySession)}
			}
		}
		if c != nil {
			err := c.command(ctx, killing(thread))
			switch e := new(mysql.MySQLError); {
			case errors.As(err, &e):
				return // the server does not know it, or does not let it be killed
			case err != nil:
				_ = c.close()
				c = nil
			default:
				told()
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func killing(thread int64) string { return "KILL " + strconv.FormatInt(thread, 10) }
