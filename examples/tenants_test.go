package examples_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// What docs/tenants.md creates in MariaDB.
const guideShop = "DROP DATABASE IF EXISTS webshop; DROP USER IF EXISTS shop_app@'127.0.0.1'; DROP ROLE IF EXISTS shop_reader"

var (
	createdDatabase = regexp.MustCompile(`(?m)^\$ createdb (?:-T \w+ )?(\w+)$`)
	createdRole     = regexp.MustCompile(`(?m)^CREATE ROLE (\w+)`)
)

// useDatabases lets psql and createdb of a transcript reach the PostgreSQL server of the tests, and mariadb the other one.
// It removes what the transcript has left there.
func (f *folder) useDatabases(p *page) {
	f.t.Helper()
	super := needs(f.t, "HATCHEL_TEST_POSTGRES_SUPERUSER")
	address, err := url.Parse(super)
	f.must(err)
	admin := f.desk(super)
	f.removeAtBothEnds(func() {
		for _, m := range createdDatabase.FindAllStringSubmatch(p.src, -1) {
			dropGuide(f, admin, "DROP DATABASE IF EXISTS "+m[1]+" WITH (FORCE)")
		}
		for _, m := range createdRole.FindAllStringSubmatch(p.src, -1) {
			dropGuide(f, admin, "DROP ROLE IF EXISTS "+m[1])
		}
	})
	f.env = append(f.env, "PGHOST="+address.Hostname(), "PGPORT="+address.Port(), "PGUSER="+address.User.Username(),
		"HELPDESK_DSN=postgres://helpdesk_app@"+address.Host+"/helpdesk?sslmode=disable",
		"HELPDESK_US_DSN=postgres://helpdesk_app@"+address.Host+"/helpdesk_us?sslmode=disable")
	if strings.Contains(p.src, "\n$ mariadb ") {
		f.useMariaDB()
	}
}

func (f *folder) useMariaDB() {
	f.t.Helper()
	config, err := mysql.ParseDSN(needs(f.t, "HATCHEL_TEST_MYSQL"))
	f.must(err)
	config.MultiStatements = true
	connector, err := mysql.NewConnector(config)
	f.must(err)
	db := sql.OpenDB(connector)
	f.t.Cleanup(func() { db.Close() })
	f.removeAtBothEnds(func() {
		if _, err := db.ExecContext(context.Background(), guideShop); err != nil {
			f.t.Error(err)
		}
	})
	host, port, _ := strings.Cut(config.Addr, ":")
	f.write(".my.cnf", fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", host, port, config.User, config.Passwd))
	f.env = append(f.env, "SHOP_DSN=mysql://shop_app:shop@"+config.Addr+"/webshop")
}

func (f *folder) removeAtBothEnds(remove func()) {
	remove()
	f.t.Cleanup(remove)
}

func dropGuide(f *folder, admin *pgx.Conn, statement string) {
	f.t.Helper()
	if _, err := admin.Exec(context.Background(), statement); err != nil {
		f.t.Error(err)
	}
}
